import { z } from 'zod'
import { getNamedKeys } from '../../ledger/api-keys.ts'
import { readRefusals } from '../../usage/refusals.ts'
import { HOUR_MS } from '../../vocabulary/clock.ts'
import { RANGE_DAYS_MAX, REFUSALS_KEPT_DAYS } from '../../vocabulary/date-range.ts'
import { problemOfCode } from '../../vocabulary/problem.ts'
import { idField, keysFilterField, momentField, timeAnswer, timeField } from '../fields.ts'
import { notFound } from '../not-found.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { accountPaths } from '../paths.ts'
import { chartRange } from '../usage/usage.ts'
import { readNames } from '../usage/usage-names.ts'

const RANGE_DAYS_DEFAULT = 7
const KEYS_MAX = 200

/** Why requests of an account were refused before they were forwarded. */
export function refusalOperations({ store, clock }: OperationParts) {
  return [
    operation({
      name: 'getRefusals',
      method: 'GET',
      scope: 'read',
      paths: accountPaths('/refusals'),
      summary: `Counts of the account's requests that were refused before they were forwarded, by error code and API key. Such requests are not in Activity. Counts are kept for ${REFUSALS_KEPT_DAYS} days. Those of the last few seconds are missing.`,
      query: z.strictObject({
        key: keysFilterField.optional(),
        from: momentField
          .optional()
          .describe(
            'The start of the range, moved back to the start of its hour. Default: the last 7 UTC days, today included.',
          ),
        to: momentField
          .optional()
          .describe(
            `The end of the range, exclusive, moved forward to the end of its hour. Default: now. At most ${RANGE_DAYS_MAX} days after \`from\`.`,
          ),
      }),
      answers: { 200: refusalsShape },
      problems: ['not_found'],
      async run({ reader, accountId, query }) {
        const db = store.searches(reader)
        const names = await readNames(db, 'accounts', [accountId])
        if (names.size === 0) throw notFound('account', accountId)
        const { from, to } = query
        const { fromMs, toMs } = chartRange({ from, to, days: RANGE_DAYS_DEFAULT }, clock.nowMs())
        const fromHour = Math.floor(fromMs / HOUR_MS)
        const untilHour = Math.ceil(toMs / HOUR_MS)
        const hours = { accountId, fromHour, untilHour }
        const only = { apiKeyIds: query.key ?? null, keysMax: KEYS_MAX }
        const { codes, keys } = await readRefusals(db, { ...hours, ...only })
        const apiKeyIds = [...new Set(keys.map(({ api_key_id }) => api_key_id))]
        const apiKeys = await getNamedKeys(db, { accountId, apiKeyIds })
        return {
          object: 'refusals',
          account_id: accountId,
          from: timeAnswer(fromHour * HOUR_MS),
          to: timeAnswer(untilHour * HOUR_MS),
          requests: codes.reduce((sum, { requests }) => sum + requests, 0),
          codes: codes.map((counted) => ({
            ...countAnswer(counted),
            meaning: problemOfCode(counted.code)?.meaning ?? '',
            remedy: problemOfCode(counted.code)?.remedy ?? '',
          })),
          keys: keys.map(({ api_key_id: id, ...counted }) => {
            const apiKey = apiKeys.get(id)
            return {
              key_id: id,
              key_name: apiKey?.name ?? null,
              key_deleted: apiKey === undefined || apiKey.deletedAtMs !== null,
              ...countAnswer(counted),
            }
          }),
        } satisfies z.input<typeof refusalsShape>
      },
    }),
  ]
}

interface Counted {
  readonly code: string
  readonly requests: number
  readonly latest_at_ms: number
}

function countAnswer({ code, requests, latest_at_ms }: Counted) {
  return { code, requests, latest_at: timeAnswer(latest_at_ms) }
}

const counted = {
  code: z.string().describe('The `error.code` of the answer.'),
  requests: z.int(),
  latest_at: timeField.describe('When the latest of these requests was refused, RFC 3339 in UTC.'),
}

/** Counts of the refused requests of an account. */
export const refusalsShape = z
  .object({
    object: z.literal('refusals'),
    account_id: idField('acct'),
    from: timeField,
    to: timeField.describe('The end of the range, exclusive.'),
    requests: z.int().describe('The number of refused requests.'),
    codes: z
      .array(
        z.object({
          ...counted,
          meaning: z.string().describe('What the code means. Backticks mark code.'),
          remedy: z.string().describe('What to do. Backticks mark code.'),
        }),
      )
      .describe('By error code, the most frequent first.'),
    keys: z
      .array(
        z.object({
          key_id: idField('key'),
          key_name: z.string().nullable().describe('The name of the key; null: it is not known.'),
          key_deleted: z.boolean().describe('Whether the key was deleted since.'),
          ...counted,
        }),
      )
      .describe(
        `By API key and error code, the ${KEYS_MAX} most frequent. Where an account is refused by very many keys in an hour, the others are counted only in \`codes\`, and not with \`key\`.`,
      ),
  })
  .meta({ id: 'Refusals' })
