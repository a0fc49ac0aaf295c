import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OperationSection } from '../../operations/operations.ts'
import { type KeptAnswer, keptAnswer, RETIRED_PATHS, sendKept } from '../public-routes.ts'
import { ThemedHtml } from '../themed-html.ts'
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
      description: 'Retired paths, which always answer 410.',
      operations: retiredOperations(RETIRED_PATHS),
    },
  ]
}

interface ReferencePageInput {
  /** Whether `/openapi.json` has an operation of this name: each has an address of its own. */
  readonly hasOperation: (operationId: string) => Promise<boolean>
  /** The folder of the page's built fonts, named `inter-….woff2`. */
  readonly fontsFolder: string
}

/**
 * Registers `/docs`, the fonts of the page, and `/docs/{operation}`, which is the same page opened at one operation.
 */
function registerReferencePage(
  app: FastifyInstance,
  { hasOperation, fontsFolder }: ReferencePageInput,
): void {
  const page = new ThemedHtml(REFERENCE_PAGE)
  const send = (request: FastifyRequest, reply: FastifyReply): void => {
    for (const [name, value] of Object.entries(HEADERS)) reply.header(name, value)
    sendKept(reply.header('vary', 'cookie'), page.of(request.headers.cookie))
  }
  app.get('/docs', send)
  app.get<{ Params: { operation: string } }>('/docs/:operation', async (request, reply) => {
    const { operation } = request.params
    if (operation === '') reply.redirect('/docs')
    else if (await hasOperation(operation)) send(request, reply)
    else reply.callNotFound()
    return reply
  })
  for (const font of FONTS) registerFont(app, { font, fontsFolder })
}

const FONTS = ['inter', 'jetbrains-mono'] as const
const FONT_CACHE = 'public, max-age=604800'

function registerFont(
  app: FastifyInstance,
  { font, fontsFolder }: { readonly font: string } & Pick<ReferencePageInput, 'fontsFolder'>,
): void {
  let kept: KeptAnswer | null = null
  app.get(`/docs/${font}.woff2`, async (_request, reply) => {
    // Until there is one, each request looks again, so that a build is found without a restart.
    kept ??= await readFont(font, fontsFolder)
    if (kept === null) reply.callNotFound()
    else sendKept(reply, kept, FONT_CACHE)
    return reply
  })
}

/** Null if the page is not built. By position: the font, and the folder of the built ones. */
async function readFont(font: string, folder: string): Promise<KeptAnswer | null> {
  const names = await readdir(folder).catch(() => [])
  const name = names.find((each) => each.startsWith(`${font}-`) && each.endsWith('.woff2'))
  return name === undefined ? null : keptAnswer(await readFile(join(folder, name)), 'font/woff2')
}

const FOLDER = join(import.meta.dirname, 'page')

const style = ['tokens.css', 'page.css', 'samples.css'].map(read).join('')
// One script: the import of draw.js is replaced by the imported module.
const script = read('draw.js').replace(/^import .*\n/, () =>
  read('render.js').replace('export ', ''),
)

/** The page. It fetches and draws the `/openapi.json` of its own address. */
const REFERENCE_PAGE = read('page.html')
  .replace('<style>', () => `<style>${style}`)
  .replace('<script type="module">', () => `<script type="module">${script}`)

/** Its content security policy: its own script and style, and fonts and requests of its own address. */
const POLICY = [
  "default-src 'none'",
  `script-src '${hashOf(script)}'`,
  `style-src '${hashOf(style)}'`,
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

function read(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8')
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
