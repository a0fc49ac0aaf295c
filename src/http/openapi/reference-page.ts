import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type KeptAnswer, keptAnswer, sendKept } from '../public-routes.ts'
import { ThemedHtml } from '../themed-html.ts'

interface ReferencePageInput {
  /** Whether `/openapi.json` has an operation of this name: each has an address of its own. */
  readonly hasOperation: (operationId: string) => Promise<boolean>
  /** The folder of the page's built fonts, named `inter-….woff2`. */
  readonly fontsFolder: string
}

/**
 * Registers `/docs`, `/docs/{operation}`, which is the same page opened at one operation, and the fonts of the page
 * beside them.
 */
export function registerReferencePage(
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
    if (await hasOperation(request.params.operation)) send(request, reply)
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

/** Null where the page is not built. By position: the font, and the folder of the built ones. */
async function readFont(font: string, folder: string): Promise<KeptAnswer | null> {
  const names = await readdir(folder).catch(() => [])
  const name = names.find((each) => each.startsWith(`${font}-`) && each.endsWith('.woff2'))
  return name === undefined ? null : keptAnswer(await readFile(join(folder, name)), 'font/woff2')
}

const FOLDER = join(import.meta.dirname, 'page')

const style = read('tokens.css') + read('page.css')
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
