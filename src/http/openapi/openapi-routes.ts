import type { FastifyInstance } from 'fastify'
import type { OperationSection } from '../../operations/operations.ts'
import { keptAnswer, sendKept } from '../kept-answer.ts'
import { RETIRED_PATHS } from '../retired-routes.ts'
import {
  type DocumentedOperation,
  type DocumentSection,
  documentedOperation,
  openApiDocument,
} from './document.ts'
import { type DocumentedFormat, inferenceOperation } from './inference-operations.ts'
import type { JsonSchema, NamedSchemas } from './json-schema.ts'
import { PUBLIC_OPERATIONS, retiredOperations } from './public-operations.ts'
import { REFERENCE_PAGE, REFERENCE_POLICY } from './reference-page.ts'

export interface OpenApiInput {
  readonly version: string
  readonly formats: readonly DocumentedFormat[]
  /** Response header with a request's charge. */
  readonly costHeader: string
  readonly sections: readonly OperationSection[]
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
  { formats, costHeader, sections }: OpenApiInput,
  named: NamedSchemas,
): readonly DocumentSection[] {
  const of = (section: OperationSection, access: 'key' | 'admin'): readonly DocumentedOperation[] =>
    section.operations.flatMap((each) => documentedOperation(each, { access, named }) ?? [])
  return [
    {
      title: 'Inference',
      operations: formats.map((format) => inferenceOperation(format, { costHeader })),
    },
    { title: 'Service and models', operations: PUBLIC_OPERATIONS },
    { title: 'Key and account', operations: sections.flatMap((section) => of(section, 'key')) },
    ...sections
      .map((section) => ({ title: `Admin: ${section.title}`, operations: of(section, 'admin') }))
      .filter(({ operations }) => operations.length > 0),
    { title: 'Retired', operations: retiredOperations(RETIRED_PATHS) },
  ]
}
