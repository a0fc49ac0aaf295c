import type { FastifyInstance } from 'fastify'
import type { OperationSection } from '../../operations/admin-sections.ts'
import type { Operation } from '../../operations/operation.ts'
import { keptAnswer, sendKept } from '../kept-answer.ts'
import { RETIRED_PATHS } from '../retired-routes.ts'
import { type DocumentSection, documentedOperation, openApiDocument } from './document.ts'
import { type DocumentedFormat, inferenceOperation } from './inference-operations.ts'
import type { JsonSchema, NamedSchemas } from './json-schema.ts'
import { PUBLIC_OPERATIONS, retiredOperations } from './public-operations.ts'
import { REFERENCE_PAGE, REFERENCE_POLICY } from './reference-page.ts'

export interface OpenApiInput {
  readonly version: string
  readonly formats: readonly DocumentedFormat[]
  /** Response header with a request's charge. */
  readonly costHeader: string
  readonly account: readonly Operation[]
  readonly admin: readonly OperationSection[]
}

/** `/openapi.json`, and `/docs`, to which `/` leads: a page that is drawn from it. */
export function registerOpenApiRoutes(app: FastifyInstance, input: OpenApiInput): void {
  const named: NamedSchemas = new Map<string, JsonSchema>()
  const sections = sectionsOf(input, named)
  const document = keptAnswer(
    Buffer.from(JSON.stringify(openApiDocument({ version: input.version, sections, named }))),
  )
  const page = keptAnswer(Buffer.from(REFERENCE_PAGE), 'text/html; charset=utf-8')
  app.get('/openapi.json', (request, reply) => sendKept({ request, reply }, document))
  // A browser that is given the bare address is shown what is here.
  app.get('/', (request, reply) => {
    reply.header('x-request-id', request.id).redirect('/docs')
  })
  app.get('/docs', (request, reply) => {
    reply
      .header('content-security-policy', REFERENCE_POLICY)
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'no-referrer')
    sendKept({ request, reply }, page)
  })
}

function sectionsOf(
  { formats, costHeader, account, admin }: OpenApiInput,
  named: NamedSchemas,
): readonly DocumentSection[] {
  return [
    {
      title: 'Inference',
      operations: formats.map((format) => inferenceOperation(format, { costHeader })),
    },
    { title: 'Service and models', operations: PUBLIC_OPERATIONS },
    {
      title: 'Key and account',
      operations: account.map((each) => documentedOperation(each, { access: 'key', named })),
    },
    ...admin.map(({ title, operations }) => ({
      title: `Admin: ${title}`,
      operations: operations.map((each) => documentedOperation(each, { access: 'admin', named })),
    })),
    { title: 'Retired', operations: retiredOperations(RETIRED_PATHS) },
  ]
}
