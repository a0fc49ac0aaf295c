import { readLists } from '../../catalog/catalog-store.ts'
import { formatDecimal } from '../../vocabulary/money.ts'
import { type AskedUpstream, askAll } from '../ask-upstreams.ts'
import type { CommandContext, LiveUpstreams } from '../command-context.ts'
import { counted } from '../table.ts'
import { durationText, type Finding } from './finding.ts'

const LEFT_WARNING_DOLLARS = 5

/** Asks each upstream for its models, which costs nothing, and whether it accepts its key. Absent: the simulator answers. */
export async function checkUpstreams(live: LiveUpstreams | undefined): Promise<readonly Finding[]> {
  if (live === undefined) {
    const message =
      'none is configured: the built-in simulator answers, and all money is play money'
    return [{ check: 'upstream', state: 'ok', message }]
  }
  return (await askAll(live, () => false)).map(upstreamFinding)
}

function upstreamFinding({ settings, answer, leftUsd }: AskedUpstream): Finding {
  const check = `upstream ${settings.name}`
  if (answer.kind === 'failed') {
    const { cause } = answer
    const why = cause instanceof Error ? cause.message : String(cause)
    const variable =
      settings.apiKeyVariable === null ? '' : `, its key in ${settings.apiKeyVariable}`
    return {
      check,
      state: 'failed',
      message: `${why}: check its address ${settings.baseUrl}${variable}, and the credit there`,
    }
  }
  const { models, skipped } = answer.listed
  if (models.length === 0) {
    const message = 'offers no models: `tollgate upstream check` prints why each is left out'
    return { check, state: 'failed', message }
  }
  if (leftUsd !== null && Number(formatDecimal(leftUsd)) < LEFT_WARNING_DOLLARS) {
    const message = `its key has $${formatDecimal(leftUsd)} left: add credit there`
    return { check, state: 'warning', message }
  }
  const notOffered =
    skipped.length === 0
      ? ''
      : `; ${counted(skipped.length, 'model')} not offered (\`tollgate upstream check\` prints why)`
  return {
    check,
    state: 'ok',
    message: `answers, and offers ${counted(models.length, 'model')}${notOffered}`,
  }
}

/** Whether the stored prices of each upstream are new enough to run requests. By position: the store, and the upstreams. */
export async function checkPrices(
  { store: { db }, clock }: CommandContext,
  live: LiveUpstreams,
): Promise<readonly Finding[]> {
  const { upstreams } = await live.load()
  const { catalogRefreshMs, pricesStaleAfterMs } = live.catalog
  const lists = await readLists(db)
  return upstreams.map(({ name }): Finding => {
    const check = `prices of ${name}`
    const listed = lists.get(name)
    if (listed === undefined) {
      const message = 'never read: start the server, or run `tollgate catalog refresh`'
      return { check, state: 'warning', message }
    }
    const ageMs = clock.nowMs() - listed.refreshedAtMs
    const age = `${counted(listed.models, 'model')}, read ${durationText(ageMs)} ago`
    if (ageMs > pricesStaleAfterMs) {
      const message = `${age}: too old to run requests. Start the server, or run \`tollgate catalog refresh\``
      return { check, state: 'failed', message }
    }
    if (ageMs > 3 * catalogRefreshMs) {
      const message = `${age}, and the server reads them every ${durationText(catalogRefreshMs)}: see its log, or run \`tollgate catalog refresh\``
      return { check, state: 'warning', message }
    }
    return { check, state: 'ok', message: age }
  })
}
