import { z } from 'zod'
import { readLists } from '../../catalog/catalog-store.ts'
import {
  type CodeCount,
  countCodes,
  type FailedRequest,
  lastFailure,
  medianFirstBytes,
} from '../../ledger/activity/request-figures.ts'
import { countByUpstream } from '../../ledger/activity/unsettled.ts'
import { DAY_MS, HOUR_MS } from '../../vocabulary/clock.ts'
import { addMicros, type Decimal, ZERO_MICROS } from '../../vocabulary/money.ts'
import { PROBLEMS } from '../../vocabulary/problem.ts'
import {
  errorCodeField,
  listAnswer,
  listShape,
  moneyField,
  timeAnswer,
  timeField,
  timeOrNull,
} from '../fields.ts'
import { operation } from '../operation.ts'
import type { OperationParts, UpstreamFacts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'

const COUNTED_MS = DAY_MS
const JUDGED_MS = HOUR_MS / 4
const LIST_OLD_MS = HOUR_MS
const FAILURES_MIN = 3
const FAILING_SHARE = 0.1
const LOW_CREDIT_DOLLARS = 5

/** The states of an upstream, the most urgent first. */
const UPSTREAM_STATES = [
  'key_refused',
  'credit_low',
  'unreachable',
  'no_models',
  'failing',
  'healthy',
] as const

/** The states of the configured upstreams. */
export function upstreamOperations(parts: OperationParts) {
  return [list(parts)]
}

function list({ store, clock, upstreams }: OperationParts) {
  return operation({
    name: 'listUpstreams',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('upstreams'),
    summary:
      'The configured upstreams with their state, and the figures of the last 24 hours; none with the built-in simulator. Only a running server knows of a refused key and of low credit; the command line does not.',
    answers: { 200: listShape(upstreamShape) },
    async run({ reader }) {
      const db = store.searches(reader)
      const nowMs = clock.nowMs()
      const sinceMs = nowMs - COUNTED_MS
      const counts = await countCodes(db, sinceMs)
      const judged = await countCodes(db, nowMs - JUDGED_MS)
      const running = await countByUpstream(db, 'open')
      const firstBytes = await medianFirstBytes(db, sinceMs)
      const lists = await readLists(db)
      const rows: z.infer<typeof upstreamShape>[] = []
      for (const facts of await upstreams()) {
        const { name, dialect, inFlightMax } = facts
        const listed = lists.get(name) ?? null
        const figures = figuresOf(counts, name)
        const failure =
          figures.failed === 0 ? null : await lastFailure(db, { upstream: name, sinceMs })
        rows.push({
          object: 'upstream',
          name,
          dialect,
          state: upstreamState({
            facts,
            judged: judged.filter(({ upstream }) => upstream === name),
            listAgeMs: listed === null ? null : nowMs - listed.refreshedAtMs,
          }),
          models: listed?.models ?? 0,
          ...figures,
          first_byte_ms: firstBytes.get(name) ?? null,
          in_flight: running.get(name) ?? 0,
          in_flight_max: inFlightMax,
          listed_at: timeOrNull(listed?.refreshedAtMs ?? null),
          last_failure: failure === null ? null : failureAnswer(failure),
        })
      }
      return listAnswer(rows, null)
    },
  })
}

/** A configured upstream. */
export const upstreamShape = z
  .object({
    object: z.literal('upstream'),
    name: z.string(),
    dialect: z.string(),
    state: z
      .enum(UPSTREAM_STATES)
      .describe(
        '`key_refused`: it refuses the key of the gateway, or has no credit for it. `credit_low`: the key has less than $5 left. `unreachable`: all requests of the last 15 minutes, at least three, failed without a usable answer. `no_models`: it has listed no models for more than an hour, or never: it does not answer, or its list has no model with a price. `failing`: at least 10% of the requests of the last 15 minutes, and at least three, failed there.',
      ),
    models: z.int().describe('The number of models of its last list that are offered.'),
    requests: z.int().describe('The number of requests in the last 24 hours.'),
    failed: z.int().describe('The number of these requests that ended with an error.'),
    errors: z
      .array(z.object({ code: errorCodeField, requests: z.int() }))
      .describe('The errors by code, the most frequent first.'),
    cost: moneyField.describe("The provider's cost of these requests, in micro-dollars."),
    first_byte_ms: z
      .int()
      .nullable()
      .describe(
        'The median time to the first byte in the last 24 hours, in milliseconds; null: no request got one.',
      ),
    in_flight: z.int().describe('The number of requests that are running now, on all servers.'),
    in_flight_max: z
      .int()
      .nullable()
      .describe('`max_in_flight`, which each server counts separately; null: no limit.'),
    listed_at: timeField.nullable().describe('When its models were last listed; null: never.'),
    last_failure: z
      .object({
        request_id: z.string(),
        code: errorCodeField,
        http_status: z.int().nullable(),
        model: z.string(),
        at: timeField,
      })
      .nullable()
      .describe(
        'The newest request of these 24 hours that ended with an error; null: there is none.',
      ),
  })
  .meta({ id: 'Upstream' })

/** By position: the counts of all upstreams, and the name of one. */
function figuresOf(
  counts: readonly CodeCount[],
  name: string,
): Pick<z.infer<typeof upstreamShape>, 'requests' | 'failed' | 'errors' | 'cost'> {
  const own = counts.filter(({ upstream }) => upstream === name)
  const errors = own
    .flatMap(({ code, requests }) => (code === null ? [] : [{ code, requests }]))
    .sort((a, b) => b.requests - a.requests || a.code.localeCompare(b.code))
  const cost = own.reduce((sum, { costMicros }) => addMicros(sum, costMicros), ZERO_MICROS)
  return { requests: sumOf(own), failed: sumOf(errors), errors, cost }
}

function sumOf(counts: readonly Pick<CodeCount, 'requests'>[]): number {
  return counts.reduce((sum, { requests }) => sum + requests, 0)
}

function failureAnswer({ id, openedAtMs, code, httpStatus, modelId }: FailedRequest) {
  return {
    request_id: id,
    code,
    http_status: httpStatus,
    model: modelId,
    at: timeAnswer(openedAtMs),
  }
}

/** The state of an upstream, from the known facts. */
export function upstreamState({
  facts: { isAccountRefused, left },
  judged,
  listAgeMs,
}: {
  readonly facts: UpstreamFacts
  /** The requests of the upstream in the last minutes. */
  readonly judged: readonly Pick<CodeCount, 'code' | 'requests' | 'answered'>[]
  /** Null: it was never listed. */
  readonly listAgeMs: number | null
}): (typeof UPSTREAM_STATES)[number] {
  if (isAccountRefused) return 'key_refused'
  if (left !== null && isLowCredit(left)) return 'credit_low'
  const failed = judged.flatMap((count) => {
    const failures = failuresOf(count)
    return failures === 0 ? [] : [{ code: count.code, requests: failures }]
  })
  const failures = sumOf(failed)
  const isSilent = failed.every(({ code }) => code !== null && SILENT.has(code))
  if (failures >= FAILURES_MIN && isSilent && failures === sumOf(judged)) return 'unreachable'
  // A server that lists no prices answers: only `tollgate upstream check` knows which of both it is.
  if (listAgeMs === null || listAgeMs > LIST_OLD_MS) return 'no_models'
  const isFailing = failures >= FAILURES_MIN && failures >= sumOf(judged) * FAILING_SHARE
  return isFailing ? 'failing' : 'healthy'
}

const SILENT: ReadonlySet<string> = new Set([
  'upstream_error',
  'upstream_timeout',
  'upstream_disconnected',
])

/** How many of the requests only the upstream could have made succeed. */
function failuresOf({
  code,
  requests,
  answered,
}: Pick<CodeCount, 'code' | 'requests' | 'answered'>): number {
  if (code === null) return 0
  // The upstream refused our account. Without its answer, the store failed.
  if (code === 'service_unavailable') return answered
  const rows: Readonly<Record<string, { readonly owner: string } | undefined>> = PROBLEMS
  const isUpstreams = code === 'upstream_disconnected' || rows[code]?.owner === 'upstream'
  return isUpstreams ? requests : 0
}

/** Whether so little is left of a key's limit, in dollars, that credit should be added. */
export function isLowCredit({ digits, exponent }: Decimal): boolean {
  return Number(digits) * 10 ** exponent < LOW_CREDIT_DOLLARS
}
