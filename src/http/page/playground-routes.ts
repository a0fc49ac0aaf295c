import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { WireFormat } from '../../formats/format.ts'
import type { EstimateInput } from '../../journey/estimate-hold.ts'
import type { Caller } from '../../journey/gate/caller.ts'
import { recordAction } from '../../ledger/operator-actions.ts'
import { operatorOf, requirePassword } from '../../operations/caller.ts'
import { checkInput } from '../../operations/check-input.ts'
import type { Reader } from '../../store/page-reads.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import type { Inference } from '../inference.ts'
import { arrivalOf, leavingOf, routeOf } from '../operation-routes.ts'
import { memberAccess } from './page-access.ts'
import type { PageCallsInput } from './page-calls.ts'

/** The parts of the Playground. */
export interface PlaygroundInput extends PageCallsInput {
  readonly formats: readonly WireFormat[]
  readonly inference: Pick<Inference, 'serveAs' | 'estimate'>
  /** Finds the sender of a Playground request: the account, by its key without a text. Throws Problem. */
  readonly playgroundCaller: (accountId: string, arrival: Arrival) => Promise<Caller>
  /** An account, its key of the Playground, and the models that both may use. Throws Problem. */
  readonly playgroundAccount: (
    accountId: string,
    reader: Reader,
  ) => Promise<Pick<EstimateInput, 'account' | 'apiKey' | 'models'>>
}

/** Paths from the root, with parameters in braces. The bodies are those of a format. */
export const PLAYGROUND_CALLS = [
  {
    name: 'askPlayground',
    method: 'POST',
    paths: { member: '/app/api/accounts/{account_id}/playground/{format}' },
  },
  {
    name: 'estimateHold',
    method: 'POST',
    paths: { member: '/app/api/accounts/{account_id}/playground/estimate' },
  },
] as const

const [ASK, ESTIMATE] = PLAYGROUND_CALLS

/** The hold that a conversation would need, and the credit of its account, in micro-dollars. */
export interface HoldEstimate {
  readonly object: 'hold_estimate'
  readonly hold: number
  readonly available: number
}

const PLAYGROUND_FORMATS = new Set(['chat', 'messages', 'responses'])

/** Conversations by a session: the journey of any other request, on the account's key for it. */
export function registerPlayground(
  api: FastifyInstance,
  { formats, ...input }: PlaygroundInput,
): void {
  const spoken = formats.filter(({ endpoint }) => PLAYGROUND_FORMATS.has(endpoint))
  for (const format of spoken) registerConversation(api, { ...input, format })
  registerEstimate(api, { ...input, formats: spoken })
}

/** One format of the Playground, whose errors have the envelope of the page. */
function registerConversation(
  api: FastifyInstance,
  {
    format,
    inference,
    ...input
  }: Omit<PlaygroundInput, 'formats'> & { readonly format: WireFormat },
): void {
  const { db, clock } = input
  const members = memberAccess(input)
  api.post<{ Params: { account_id: string } }>(
    routeOf(ASK.paths.member.replace('{format}', format.endpoint)),
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

/** The hold that a conversation would need, shown while it is typed. `format` is the format of the body. */
function registerEstimate(api: FastifyInstance, input: PlaygroundInput): void {
  const members = memberAccess(input)
  const query = z.strictObject({
    format: z.enum(input.formats.map(({ endpoint }) => endpoint)).default('chat'),
  })
  api.post<{ Params: { account_id: string } }>(
    routeOf(ESTIMATE.paths.member),
    async ({ raw: clientRequest, params, query: sent, headers, id }, reply) => {
      const arrival = arrivalOf({ headers, raw: clientRequest })
      const caller = await members.authenticate(arrival, params)
      members.onCaller?.(caller, reply.raw)
      const { format: endpoint } = checkInput(query, sent)
      const format = input.formats.find((one) => one.endpoint === endpoint)
      if (format === undefined) throw new TypeError(`the page has no format ${endpoint}`)
      const owner = 'userId' in caller ? caller.userId : params.account_id
      const reader = { owner, signal: leavingOf(reply.raw) }
      const payer = await input.playgroundAccount(params.account_id, reader)
      const { holdMicros, availableMicros } = await input.inference.estimate({
        ...payer,
        clientRequest,
        client: reply.raw,
        format,
        owner,
        bodyHasCome: async () => void (await members.authenticate(arrival, params)),
      })
      const estimate: HoldEstimate = {
        object: 'hold_estimate',
        hold: holdMicros,
        available: availableMicros,
      }
      return reply.header('x-request-id', id).send(estimate)
    },
  )
}
