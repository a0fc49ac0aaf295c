import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { OperationSection } from '../../operations/operations.ts'
import { type KeptAnswer, keptAnswer, RETIRED_PATHS, sendKept } from '../public-routes.ts'
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

/** The document of the service, and the operations that it has. */
interface Description {
  readonly document: KeptAnswer
  readonly operationIds: ReadonlySet<string>
}

/**
 * Registers `/openapi.json`, and `/docs`, a page that is drawn from it. `/` redirects browsers to the page at
 * `/app` if it is on, and others to `/docs`.
 */
export function registerOpenApiRoutes(app: FastifyInstance, input: OpenApiInput): void {
  // Made at the first request: a start would take half as long again.
  let made: Promise<Description> | null = null
  const described = (): Promise<Description> => {
    made ??= describe(input)
    return made
  }
  app.get('/openapi.json', async (_request, reply) => {
    sendKept(reply, (await described()).document)
    return reply
  })
  // For a person who opens the bare address in a browser.
  app.get('/', (request, reply) => {
    const isBrowser = /\btext\/html\b/i.test(String(request.headers.accept ?? ''))
    reply.header('x-request-id', request.id).header('vary', 'accept')
    reply.redirect(input.hasPage && isBrowser ? '/app' : '/docs')
  })
  registerReferencePage(app, {
    hasOperation: async (operationId) => (await described()).operationIds.has(operationId),
    fontsFolder: input.fontsFolder,
  })
}

async function describe(input: OpenApiInput): Promise<Description> {
  const named: NamedSchemas = new Map<string, JsonSchema>()
  const sections = await sectionsOf(input, named)
  const document = await openApiDocument(input.version, { sections, named })
  return {
    document: keptAnswer(Buffer.from(JSON.stringify(document))),
    operationIds: new Set(sections.flatMap(({ operations }) => operations.map(({ name }) => name))),
  }
}

async function sectionsOf(
  { formats, costHeader, sections }: OpenApiInput,
  named: NamedSchemas,
): Promise<readonly DocumentSection[]> {
  const of = async (
    described: readonly OperationSection[],
    access: 'key' | 'admin' | 'anyone',
  ): Promise<readonly DocumentedOperation[]> => {
    const operations: DocumentedOperation[] = []
    for (const each of described.flatMap((section) => section.operations)) {
      // Running streams get their turn.
      await turn()
      const operation = documentedOperation(each, { access, named })
      if (operation !== null) operations.push(operation)
    }
    return operations
  }
  const ofAnyone = await of(sections, 'anyone')
  const ofKeys = await of(sections, 'key')
  const ofAdmins: DocumentSection[] = []
  for (const section of sections) {
    const operations = await of([section], 'admin')
    if (operations.length === 0) continue
    const { title } = section
    ofAdmins.push({
      title: `Admin: ${title}`,
      description: `${title}. These calls need an admin token.`,
      operations,
    })
  }
  return [
    {
      title: 'Inference',
      description: 'Requests to models, in the formats of OpenAI, Anthropic and OpenRouter.',
      operations: formats.map((format) => inferenceOperation(format, { costHeader })),
    },
    {
      title: 'Service and models',
      description: 'The version and health of the gateway, and the models that it offers.',
      operations: [...PUBLIC_OPERATIONS, ...ofAnyone],
    },
    {
      title: 'Key and account',
      description: 'The calling API key and its account.',
      operations: ofKeys,
    },
    ...ofAdmins,
    {
      title: 'Retired',
      description: 'Paths of earlier releases, which are always refused.',
      operations: retiredOperations(RETIRED_PATHS),
    },
  ]
}
