import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../../operations/operation.ts'
import { pathOf, UnknownRoute } from '../known-routes.ts'
import { arrivalOf, type OnAccessTaken, registerOperations } from '../operation-routes.ts'
import { etagOf, isNamed, type KeptAnswer, keptAnswer, sendKept } from '../public-routes.ts'
import { ThemedHtml } from '../themed-html.ts'
import { FACTOR_CALLS } from './factor-routes.ts'
import { memberAccess, operatorAccess } from './page-access.ts'
import { registerCalls } from './page-calls.ts'
import { type PlaygroundInput, registerPlayground } from './playground-routes.ts'
import { SESSION_CALLS } from './session-routes.ts'
import { USER_CALLS } from './user-routes.ts'

/** The parts of the page. */
export interface PageInput extends Omit<PlaygroundInput, keyof ServerParts> {
  /** The folder of its built files. */
  readonly folder: string
}

/** The parts of the server that the page's routes use. */
interface ServerParts extends Pick<PlaygroundInput, 'formats' | 'inference'> {
  readonly operations: readonly Operation[]
  readonly onAccessTaken: OnAccessTaken
}

/** Answers to the page are for this browser, now. */
const API_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

const READING = new Set(['GET', 'HEAD'])

/**
 * The page: its files below `/app`, and its calls below `/app/api`. A call that changes something must come
 * from the page itself.
 */
export function registerPage(
  app: FastifyInstance,
  { operations, formats, inference, onAccessTaken, ...input }: PageInput & ServerParts,
): void {
  registerPageFiles(app, input.folder)
  app.register(async (api) => {
    api.addHook('onRequest', async (request, reply) => {
      // On the raw response, because a problem is answered there.
      for (const [name, value] of Object.entries(API_HEADERS)) reply.raw.setHeader(name, value)
      if (!READING.has(request.method)) input.site.requireOwn(arrivalOf(request))
    })
    api.addHook('onSend', async (request, reply, answer) => {
      if (!READING.has(request.method) || typeof answer !== 'string') return answer
      const etag = etagOf(answer)
      reply.header('etag', etag)
      if (!isNamed(etag, request.headers['if-none-match'])) return answer
      reply.code(304)
      return ''
    })
    const calls = [...SESSION_CALLS, ...FACTOR_CALLS, ...USER_CALLS]
    registerCalls(api, { ...input, onAccessTaken }, calls)
    const { bodyTimeoutMs } = input
    for (const access of [memberAccess(input), operatorAccess(input)]) {
      registerOperations(api, { operations, access, bodyTimeoutMs, onAccessTaken })
    }
    registerPlayground(api, { ...input, formats, inference })
    for (const url of ['/app/api', '/app/api/*']) {
      api.all(url, () => {
        throw new UnknownRoute()
      })
    }
  })
}

/** The policy of the page: browsers run and show files of this server, and call it, and nothing else. */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
}

/** The encodings that the build makes of a file, the smaller first. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const

const NOT_BUILT = 'The page is not built. In the folder of tollgate, run: node web/build.ts\n'

/** A built file, by the encoding that it is sent in; `identity` is the file itself. */
type BuiltFile = Readonly<Partial<Record<'identity' | 'br' | 'gzip', KeptAnswer>>>

interface BuiltPage {
  /** By path below `/app/`. */
  readonly files: ReadonlyMap<string, BuiltFile>
  readonly index: ThemedHtml
}

/**
 * `/app` and everything below: the files of the build, and `index.html` for each path that is none, because
 * the page has routes of its own. Files are read at the first request and kept in memory.
 */
export function registerPageFiles(app: FastifyInstance, folder: string): void {
  let built: Promise<BuiltPage | null> | null = null
  const page = async (): Promise<BuiltPage | null> => {
    built ??= readPage(folder)
    const read = await built
    // The next request looks again, so that a build is found without a restart.
    if (read === null) built = null
    return read
  }
  const send = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    for (const [name, value] of Object.entries(PAGE_HEADERS)) reply.header(name, value)
    const read = await page()
    if (read === null) return reply.code(503).type('text/plain; charset=utf-8').send(NOT_BUILT)
    const path = pathOf(request.url).replace(/^\/app\/?/, '')
    const file = read.files.get(path)
    if (file === undefined) {
      // A file of an earlier build is gone: the page must not be run as a script.
      if (path.startsWith('assets/')) {
        reply.callNotFound()
        return reply
      }
      sendKept(reply.header('vary', 'cookie'), read.index.of(request.headers.cookie))
      return reply
    }
    sendFile({ request, reply }, { file, isHashed: path.startsWith('assets/') })
    return reply
  }
  for (const url of ['/app', '/app/*']) app.get(url, send)
}

function sendFile(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  {
    file,
    isHashed,
  }: {
    readonly file: BuiltFile
    /** Whether its name changes with its bytes. */
    readonly isHashed: boolean
  },
): void {
  const accepted = String(request.headers['accept-encoding'] ?? '')
    .split(',')
    .filter((part) => !/;\s*q=0(?:\.0*)?\s*$/i.test(part))
    .map((part) => part.split(';')[0]?.trim())
  const encoding = ENCODINGS.find(({ name }) => file[name] !== undefined && accepted.includes(name))
  const kept = file[encoding?.name ?? 'identity']
  if (kept === undefined) {
    reply.callNotFound()
    return
  }
  reply.header('vary', 'accept-encoding')
  if (encoding !== undefined) reply.header('content-encoding', encoding.name)
  sendKept(reply, kept, isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
}

/** Null if the page is not built. */
async function readPage(folder: string): Promise<BuiltPage | null> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = new Map<string, Record<string, KeptAnswer>>()
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const encoding = ENCODINGS.find(({ suffix }) => path.endsWith(suffix))
    const bare = encoding === undefined ? path : path.slice(0, -encoding.suffix.length)
    const contentType = CONTENT_TYPES[extname(bare)]
    if (contentType === undefined) continue
    const name = relative(folder, bare).split(sep).join('/')
    const file = files.get(name) ?? {}
    file[encoding?.name ?? 'identity'] = keptAnswer(await readFile(path), contentType)
    files.set(name, file)
  }
  const html = files.get('index.html')?.['identity']
  files.delete('index.html')
  return html === undefined ? null : { files, index: new ThemedHtml(html.bytes.toString()) }
}
