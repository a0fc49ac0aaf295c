import type { FastifyInstance } from 'fastify'
import type { OperationSection } from '../../operations/operations.ts'
import { keptAnswer, RETIRED_PATHS, sendKept } from '../public-routes.ts'
import {
  type DocumentedOperation,
  type DocumentSection,
  documentedOperation,
  openApiDocument,
} from './document.ts'
import {
  type DocumentedFormat,
  inferenceOperation,
  PUBLIC_OPERATIONS,
  retiredOperations,
} from './fixed-operations.ts'
import { registerReferencePage } from './reference-page.ts'
import type { JsonSchema, NamedSchemas } from './schemas.ts'

export interface OpenApiInput {
  readonly version: string
  readonly formats: readonly DocumentedFormat[]
  /** Response header with a request's charge. */
  readonly costHeader: string
  readonly sections: readonly OperationSection[]
  /** Whether there is a page at `/app`. */
  readonly hasPage: boolean
  /** The folder of the page's built fonts; without a build `/docs` has the fonts of the system. */
  readonly fontsFolder: string
}

/**
 * Registers `/openapi.json`, and `/docs`, a page that is drawn from it. `/` redirects browsers to the page at
 * `/app` if it is on, and others to `/docs`.
 */
export function registerOpenApiRoutes(app: FastifyInstance, input: OpenApiInput): void {
  const named: NamedSchemas = new Map<string, JsonSchema>()
  const sections = sectionsOf(input, named)
  const document = keptAnswer(
    Buffer.from(JSON.stringify(openApiDocument(input.version, sections, named))),
  )
  app.get('/openapi.json', (_request, reply) => sendKept(reply, document))
  // For a person who opens the bare address in a browser.
  app.get('/', (request, reply) => {
    const isBrowser = /\btext\/html\b/i.test(String(request.headers.accept ?? ''))
    reply.header('x-request-id', request.id).header('vary', 'accept')
    reply.redirect(input.hasPage && isBrowser ? '/app' : '/docs')
  })
  registerReferencePage(app, {
    operationIds: sections.flatMap(({ operations }) => operations.map(({ name }) => name)),
    fontsFolder: input.fontsFolder,
  })
}

function sectionsOf(
  { formats, costHeader, sections }: OpenApiInput,
  named: NamedSchemas,
): readonly DocumentSection[] {
  const of = (
    section: OperationSection,
    access: 'key' | 'admin' | 'anyone',
  ): readonly DocumentedOperation[] =>
    section.operations.flatMap((each) => documentedOperation(each, { access, named }) ?? [])
  return [
    {
      title: 'Inference',
      description: 'Requests to models, in the wire formats of the field.',
      operations: formats.map((format) => inferenceOperation(format, { costHeader })),
    },
    {
      title: 'Service and models',
      description: 'What the gateway is, and which models it offers.',
      operations: [...PUBLIC_OPERATIONS, ...sections.flatMap((section) => of(section, 'anyone'))],
    },
    {
      title: 'Key and account',
      description: 'What an API key may see and do: itself, and the account that it belongs to.',
      operations: sections.flatMap((section) => of(section, 'key')),
    },
    ...sections
      .map((section) => ({
        title: `Admin: ${section.title}`,
        description: `${section.title}, for admins with a token.`,
        operations: of(section, 'admin'),
      }))
      .filter(({ operations }) => operations.length > 0),
    {
      title: 'Retired',
      description: 'Paths of earlier releases, which are always refused.',
      operations: retiredOperations(RETIRED_PATHS),
    },
  ]
}
