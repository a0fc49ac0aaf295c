import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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
import type { JsonSchema, NamedSchemas } from './schemas.ts'

export interface OpenApiInput {
  readonly version: string
  readonly formats: readonly DocumentedFormat[]
  /** Response header with a request's charge. */
  readonly costHeader: string
  readonly sections: readonly OperationSection[]
  /** Whether there is a page at `/app`. */
  readonly hasPage: boolean
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
  const page = keptAnswer(Buffer.from(REFERENCE_PAGE), 'text/html; charset=utf-8')
  app.get('/openapi.json', (_request, reply) => sendKept(reply, document))
  // For a person who opens the bare address in a browser.
  app.get('/', (request, reply) => {
    const isBrowser = /\btext\/html\b/i.test(String(request.headers.accept ?? ''))
    reply.header('x-request-id', request.id).header('vary', 'accept')
    reply.redirect(input.hasPage && isBrowser ? '/app' : '/docs')
  })
  app.get('/docs', (_request, reply) => {
    reply
      .header('content-security-policy', REFERENCE_POLICY)
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'no-referrer')
    sendKept(reply, page)
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

const FOLDER = join(import.meta.dirname, 'page')

const style = read('page.css')
// One script: the import of draw.js is replaced by the imported module.
const script = read('draw.js').replace(/^import .*\n/, () =>
  read('render.js').replace('export ', ''),
)

/** The page at `/docs`. It fetches and draws the `/openapi.json` of its own address. */
const REFERENCE_PAGE = read('page.html')
  .replace('<style>', () => `<style>${style}`)
  .replace('<script type="module">', () => `<script type="module">${script}`)

/** Its content security policy: its own script, its own style, and requests to its own address. */
const REFERENCE_POLICY = [
  "default-src 'none'",
  `script-src '${hashOf(script)}'`,
  `style-src '${hashOf(style)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function read(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8')
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
