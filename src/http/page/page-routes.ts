import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { WireFormat } from '../../formats/format.ts'
import type { Caller } from '../../journey/gate/authenticator.ts'
import { recordAction } from '../../ledger/operator-actions.ts'
import { operatorOf, requirePassword } from '../../operations/caller.ts'
import type { Operation } from '../../operations/operation.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import type { Inference } from '../inference.ts'
import { UnknownRoute } from '../known-routes.ts'
import { arrivalOf, registerOperations } from '../operation-routes.ts'
import { isNamed } from '../public-routes.ts'
import { registerFactorRoutes } from './factor-routes.ts'
import { memberAccess, operatorAccess } from './page-access.ts'
import type { PageCallsInput } from './page-calls.ts'
import { registerPageFiles } from './page-files.ts'
import { registerSessionRoutes } from './session-routes.ts'

/** What the page is made of. */
export interface PageInput extends PageCallsInput {
  /** The folder of its built files. */
  readonly folder: string
  /** Who a request of the Playground is from: the account, by a key that has no text. Throws Problem. */
  readonly playgroundCaller: (accountId: string, arrival: Arrival) => Promise<Caller>
}

/** What the page's routes use of the server. */
interface ServerParts {
  readonly operations: readonly Operation[]
  readonly formats: readonly WireFormat[]
  readonly inference: Pick<Inference, 'serveAs'>
}

/** What a call of the page is answered is for this browser, now. */
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
  { operations, formats, inference, ...input }: PageInput & ServerParts,
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
      const etag = `"${hash('sha256', answer, 'base64url').slice(0, 22)}"`
      reply.header('etag', etag)
      if (!isNamed(etag, request.headers['if-none-match'])) return answer
      reply.code(304)
      return ''
    })
    registerSessionRoutes(api, input)
    registerFactorRoutes(api, input)
    const { bodyTimeoutMs } = input
    for (const access of [memberAccess(input), operatorAccess(input)]) {
      registerOperations(api, { operations, access, bodyTimeoutMs })
    }
    registerPlayground(api, { ...input, formats, inference })
    for (const url of ['/app/api', '/app/api/*']) {
      api.all(url, () => {
        throw new UnknownRoute()
      })
    }
  })
}

const PLAYGROUND_FORMATS = new Set(['chat', 'messages', 'responses'])

/** Conversations by a session: the journey of any other request, on the account's key for it. */
function registerPlayground(
  api: FastifyInstance,
  { formats, ...input }: PageInput & Omit<ServerParts, 'operations'>,
): void {
  for (const format of formats) {
    if (PLAYGROUND_FORMATS.has(format.endpoint)) registerConversation(api, { ...input, format })
  }
}

/** One format of the Playground, whose errors have the envelope of the page. */
function registerConversation(
  api: FastifyInstance,
  {
    format,
    inference,
    ...input
  }: PageInput & Pick<ServerParts, 'inference'> & { readonly format: WireFormat },
): void {
  const { db, clock } = input
  const members = memberAccess(input)
  api.post<{ Params: { account_id: string } }>(
    `/app/api/accounts/:account_id/playground/${format.endpoint}`,
    (request, reply) => {
      reply.hijack()
      const { raw: clientRequest, params, id: requestId } = request
      const arrival = arrivalOf(request)
      // A model may take longer than anything else that the page asks for.
      reply.raw.setTimeout(0)
      inference.serveAs({
        clientRequest,
        client: reply.raw,
        requestId,
        // The page reads one envelope of errors.
        format: { ...format, family: 'openai' },
        sender: {
          async authenticate() {
            const caller = await members.authenticate(arrival, params)
            members.onCaller?.(caller, reply.raw)
            const password = requirePassword(caller, { asksMembers: false })
            await password?.keepRecent()
            return input.playgroundCaller(params.account_id, arrival)
          },
          async bodyHasCome() {
            const caller = await members.authenticate(arrival, params)
            await recordAction(db, {
              by: operatorOf(caller, 'playground'),
              accountId: params.account_id,
              targetId: requestId,
              detail: {},
              nowMs: clock.nowMs(),
            })
          },
        },
      })
    },
  )
}
