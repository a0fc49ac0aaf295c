import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { forCustomers } from '../../src/operations/customer-fields.ts'
import { requestPricesShape } from '../../src/operations/requests/request-prices.ts'
import { requestShape } from '../../src/operations/requests/requests.ts'
import { listen } from '../../src/vocabulary/testing/listen.ts'
import { BALANCE, ENTRIES, SESSIONS, STATEMENT } from './stand-in-credit.ts'
import * as data from './stand-in-data.ts'
import { listOf } from './stand-in-data.ts'
import {
  ACCOUNT_ACTIONS,
  ACTIONS,
  OPERATOR_INVITATIONS,
  UPSTREAMS,
  USERS,
} from './stand-in-desk.ts'
import { MODEL_LIST, OFFERED_MODELS } from './stand-in-models.ts'
import {
  ACCOUNTS,
  AUDIT,
  CODES,
  DELIVERIES,
  FAILING,
  HEALTH,
  INVITATIONS,
  MEMBERS,
  NAMED_REQUESTS,
  TOKENS,
  UNSETTLED,
  WEBHOOKS,
} from './stand-in-operator.ts'
import { OVERVIEW } from './stand-in-overview.ts'
import {
  PRICED,
  pricesOf,
  REQUESTS,
  refusalsOf,
  SUMMARY,
  type UnnamedRequest,
} from './stand-in-requests.ts'
import {
  BILLING,
  BOUGHT_ID,
  DEPOSIT,
  HELD,
  OFFERS,
  PENDING,
  PURCHASES,
  QUOTE,
  RECEIPT,
} from './stand-in-sale.ts'
import {
  operatorReport,
  operatorUsage,
  TOP_UPS,
  TOP_UPS_OF_HELIX,
  USAGE,
  USAGE_BY_TAG,
} from './stand-in-usage.ts'

/**
 * The page's files and a made-up API: for states that a real server is in for a moment only, and for
 * pictures that are the same in every run. The policy is the server's own.
 */

const BUILD = join(import.meta.dirname, '..', '..', 'build', 'web')
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
}
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** The id of each answer. */
export const ANSWER_ID = 'req_01kbh2x9q4e7m0v6rt3z8ycd5n'

/** The answer of the API at a path: JSON, JSON by the query, a refusal, or nothing until the end of the test. */
export type StandInAnswer =
  | {
      readonly kind: 'json'
      readonly body: unknown
      readonly httpStatus?: number
      /** Default: {@link ANSWER_ID}. */
      readonly requestId?: string
    }
  | { readonly kind: 'by'; readonly of: (query: URLSearchParams) => unknown }
  | { readonly kind: 'refusal'; readonly httpStatus: number; readonly message: string }
  | { readonly kind: 'silence' }

/** A made-up server. */
export interface StandIn {
  readonly address: string
  /** The calls of the API: method, path and query. */
  readonly asked: readonly string[]
  /** The paths of the calls that it refused because a test says so. */
  readonly refused: readonly string[]
  /** How often the page asked only for what has changed. */
  readonly tagged: number
  /** From now on, this is the answer at paths that end like this, to all methods or to one: `POST /purchases`. */
  answer(pathEnd: string, answer: StandInAnswer): void
  /** Answers as a busy account does again, and was asked nothing. */
  reset(): void
  close(): Promise<void>
}

/** Answers JSON. */
export const json = (body: unknown) => ({ kind: 'json', body }) as const

/** Answers that it can't, for now. */
export const down = { kind: 'refusal', httpStatus: 500, message: 'The store is busy.' } as const

/** Answers nothing until the end of the test. */
export const silent = { kind: 'silence' } as const

/** A list of nothing. */
export const EMPTY = listOf([])

/** Starts one that answers as a busy account does. */
export async function startStandIn(): Promise<StandIn> {
  let answers = busyAccount()
  let asked: string[] = []
  let refused: string[] = []
  let tagged = 0
  const server = createServer((request, response) => {
    // Its moment is another one: the page goes by the clock of its browser.
    response.sendDate = false
    const { pathname, search, searchParams } = new URL(request.url ?? '/', 'http://stand-in')
    const isAnswered = pathname.startsWith('/app/api/') || pathname.startsWith('/v1/')
    if (!isAnswered) return void sendFile(pathname, request, response)
    asked.push(`${request.method} ${pathname.replace('/app/api/', '')}${search}`)
    const end = [...answers.keys()].findLast((one) => isAt(one, request.method, pathname))
    if (request.headers['if-none-match'] !== undefined) tagged++
    const answer = end === undefined ? undefined : answers.get(end)
    if (answer !== undefined && isRefusal(answer)) refused.push(pathname)
    sendAnswer(request, response, answer?.kind === 'by' ? json(answer.of(searchParams)) : answer)
  })
  const address = `http://127.0.0.1:${await listen(server)}`
  return {
    address,
    get asked() {
      return asked
    },
    get refused() {
      return refused
    },
    get tagged() {
      return tagged
    },
    answer(pathEnd, answer) {
      answers.delete(pathEnd)
      answers.set(pathEnd, answer)
    },
    reset() {
      answers = busyAccount()
      asked = []
      refused = []
      tagged = 0
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function isRefusal(answer: StandInAnswer): boolean {
  return 'httpStatus' in answer && (answer.httpStatus ?? 200) >= 400
}

function isAt(place: string, method: string | undefined, pathname: string): boolean {
  const [end = '', only] = place.split(' ').toReversed()
  return pathname.endsWith(end) && (only === undefined || only === method)
}

// Answers that depend on the query.
const BY_QUERY: readonly (readonly [string, (query: URLSearchParams) => unknown])[] = [
  [
    '/operator/accounts',
    (query) =>
      listOf(
        (query.get('state') === 'failing' ? FAILING : ACCOUNTS).filter(({ credit: { backed } }) => {
          const state = query.get('state')
          if (state === 'in_debt') return backed.balance < 0
          return state !== 'low_credit' || (backed.balance > 0 && backed.balance < 5_000_000)
        }),
      ),
  ],
  ['/operator/top-ups', (query) => (query.has('account') ? TOP_UPS_OF_HELIX : TOP_UPS)],
  ['/operator/usage', (query) => operatorUsage(query.get('by'))],
  ['/operator/usage/report', operatorReport],
  ['/refusals', refusalsOf],
]

const asCustomersReadIt = (request: unknown): unknown =>
  forCustomers(requestShape).withoutHidden?.(request)

/** One request and its prices, for members and for operators. */
function answersOfRequest(request: UnnamedRequest): (readonly [string, unknown])[] {
  const prices = pricesOf(request)
  const charged = forCustomers(requestPricesShape).withoutHidden?.(prices)
  return [
    [`/requests/${request.id}`, asCustomersReadIt(request)],
    [`/operator/requests/${request.id}`, request],
    [`/requests/${request.id}/prices`, charged],
    [`/operator/requests/${request.id}/prices`, prices],
  ]
}

function busyAccount(): Map<string, StandInAnswer> {
  const answers = new Map<string, StandInAnswer>()
  for (const [end, body] of [
    ['/start', data.START],
    ['/me', data.ME],
    ['/look', data.LINK_LOOK],
    ...ACCOUNTS.map((account) => [`/accounts/${account.id}`, account] as const),
    [`/accounts/${data.HELIX.id}`, data.HELIX],
    ['/overview', OVERVIEW],
    ['/usage', USAGE],
    ['/usage/report', USAGE_BY_TAG],
    ['/keys', listOf(data.KEYS)],
    ['/requests', listOf(REQUESTS.map(asCustomersReadIt), 'older')],
    ['/operator/requests', listOf(NAMED_REQUESTS, 'older')],
    ['/requests/summary', SUMMARY],
    ['/models', MODEL_LIST],
    ['/operator/models', OFFERED_MODELS],
    ['/playground/estimate', { object: 'hold_estimate', hold: 21_400, available: 184_270_000 }],
    ['/balance', BALANCE],
    ['/statement', STATEMENT],
    ['/entries', listOf(ENTRIES, 'older')],
    ['/purchases', { ...listOf(PURCHASES), pending: PENDING }],
    [`/purchases/${PENDING[0]?.id}`, PENDING[0]],
    [`/purchases/${BOUGHT_ID}`, { ...PENDING[0], id: BOUGHT_ID, state: 'credited' }],
    ['/redeem', PURCHASES[2]],
    ['/v1/credit', OFFERS],
    ['/v1/credit/quote', QUOTE],
    ['POST /purchases', DEPOSIT],
    ['/receipt', RECEIPT],
    ['/billing', BILLING],
    ['/auth/sessions', listOf(SESSIONS)],
    ['/auth/factors', data.NO_FACTORS],
    ['POST /auth/factors/app/begin', data.APP_BEGUN],
    ['POST /auth/factors/recovery-codes', data.NEW_RECOVERY_CODES],
    ['/actions', listOf(ACCOUNT_ACTIONS)],
    ['/operator/actions', listOf(ACTIONS)],
    ['/operator/users', listOf(USERS)],
    ['/operator/keys', listOf([])],
    ['/operator/upstreams', listOf(UPSTREAMS)],
    ['/operator/unsettled', listOf(UNSETTLED)],
    ['/operator/health', HEALTH],
    ['/operator/audit', AUDIT],
    ['/operator/audit/progress', { object: 'audit_progress', running: true, rows: 31_204 }],
    ['/operator/maintenance', { object: 'maintenance', enabled: false }],
    ['/members', listOf(MEMBERS)],
    ['/invitations', listOf(INVITATIONS)],
    ['/operator/invitations', listOf(OPERATOR_INVITATIONS)],
    ['/operator/codes', listOf(CODES)],
    ['/operator/tokens', listOf(TOKENS)],
    ['/operator/webhooks', listOf(WEBHOOKS)],
    ['/deliveries', listOf(DELIVERIES)],
    ['/operator/purchases', listOf(HELD)],
    ...[...REQUESTS, PRICED].flatMap(answersOfRequest),
  ] as const) {
    answers.set(end, { kind: 'json', body })
  }
  for (const [end, of] of BY_QUERY) answers.set(end, { kind: 'by', of })
  return answers
}

function sendAnswer(
  { headers }: IncomingMessage,
  response: ServerResponse,
  answer: Exclude<StandInAnswer, { kind: 'by' }> | undefined,
): void {
  if (answer?.kind === 'silence') return
  const { httpStatus, body } =
    answer === undefined
      ? refusal(404, 'There is nothing of this id.')
      : answer.kind === 'refusal'
        ? refusal(answer.httpStatus, answer.message)
        : { httpStatus: answer.httpStatus ?? 200, body: answer.body }
  const text = JSON.stringify(body)
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`
  if (headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end()
  response.writeHead(httpStatus, {
    etag,
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-request-id': (answer?.kind === 'json' && answer.requestId) || ANSWER_ID,
  })
  response.end(text)
}

function refusal(httpStatus: number, message: string) {
  const code = httpStatus === 401 ? 'not_signed_in' : 'service_unavailable'
  return { httpStatus, body: { error: { message, type: 'error', code, param: null } } }
}

async function sendFile(
  pathname: string,
  { headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const name = pathname.replace(/^\/app\/?/, '')
  const path = extname(name) === '' ? 'index.html' : name
  const bytes = await readFile(join(BUILD, path)).catch(() => null)
  if (bytes === null) return void response.writeHead(404).end()
  const theme = /theme=(light|dark)/.exec(headers.cookie ?? '')?.[1]
  response.writeHead(200, {
    'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'cache-control': path.startsWith('assets/') ? 'max-age=31536000, immutable' : 'no-cache',
  })
  response.end(
    path === 'index.html' && theme !== undefined
      ? bytes.toString().replace('<html lang="en">', `<html lang="en" data-theme="${theme}">`)
      : bytes,
  )
}
