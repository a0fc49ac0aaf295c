import { z } from 'zod'
import { readLists } from '../../catalog/catalog-store.ts'
import { MailServer } from '../../mail/mail-server.ts'
import { saleCheckShape } from '../../operations/credit/sale-status.ts'
import { isLowCredit } from '../../operations/gateway/upstreams.ts'
import { reasonOf, redirectUriOf } from '../../people/outside/outside-door.ts'
import { type SaleFigures, saleFigures } from '../../sale/figures.ts'
import { MINUTE_MS } from '../../vocabulary/clock.ts'
import { messageOf } from '../../vocabulary/message-of.ts'
import { showDollars } from '../../vocabulary/money.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { listDeliveries } from '../../webhooks/deliveries.ts'
import { listWebhooks } from '../../webhooks/registry.ts'
import { type AskedUpstream, askAll } from '../ask-upstreams.ts'
import type {
  CommandContext,
  CommandInput,
  CommandSettings,
  LiveUpstreams,
} from '../command-context.ts'
import { connectionAdvice, failureText, upstreamAdvice } from '../connection-advice.ts'
import { openSale, runOperation } from '../operation-command.ts'
import { counted } from '../table.ts'

// The checks of the gateway's connections: its running server, upstreams, payment providers and webhooks.

const SERVER_TIMEOUT_MS = 5_000

const readinessShape = z.object({
  object: z.literal('readiness'),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), message: z.string().nullable() })),
})

/** Asks the running server whether it can take requests. By position: the address of the server. */
export async function checkServer(url: string): Promise<readonly Finding[]> {
  const found = await readinessOf(url)
  if (typeof found === 'string') return [{ check: 'server', state: 'warning', message: found }]
  const findings = found.checks.flatMap(({ name, ok, message }): Finding[] =>
    message === null
      ? []
      : [{ check: `server ${name}`, state: ok ? 'warning' : 'failed', message }],
  )
  if (findings.some(({ state }) => state === 'failed')) return findings
  return [{ check: 'server', state: 'ok', message: `${url} can take requests` }, ...findings]
}

function anotherProgramAt(url: string): string {
  return `another program answers at ${url}: set HOST and PORT as the server has them`
}

/** The readiness of the server, or why it is not known. */
async function readinessOf(url: string): Promise<z.output<typeof readinessShape> | string> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(SERVER_TIMEOUT_MS) })
    const { success, data } = readinessShape.safeParse(await answer.json())
    return success ? data : anotherProgramAt(url)
  } catch (error) {
    if (error instanceof SyntaxError) return anotherProgramAt(url)
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    return isLate
      ? `the server at ${url} did not answer within ${SERVER_TIMEOUT_MS / 1_000} s: its process may hang; see its log`
      : `no server answers at ${url}: start it with \`tollgate serve\`, or set HOST and PORT as the server has them`
  }
}

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
    const message = failureText(cause) + upstreamAdvice(settings, cause)
    return { check, state: 'failed', message }
  }
  const { models, skipped } = answer.listed
  if (models.length === 0) {
    const message = 'offers no models: `tollgate upstream check` prints why each is left out'
    return { check, state: 'failed', message }
  }
  if (leftUsd !== null && isLowCredit(leftUsd)) {
    const message = `its key has ${showDollars(leftUsd)} left: add credit there`
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

const PROBE = { state: 'doctor', nonce: 'doctor', codeVerifier: 'doctor'.repeat(8) }

/** Whether each provider of sign-ins can be reached, and the return address that must be registered there. */
export async function checkSignIn({
  outside = [],
  pageUrl,
}: Pick<CommandSettings, 'outside' | 'pageUrl'>): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const { id, name, open } of outside) {
    const check = `sign-in ${id}`
    const redirectUri = redirectUriOf({ providerId: id, origin: pageUrl })
    try {
      const { origin } = await (await open()).signInUrl({ ...PROBE, redirectUri })
      const message = `people sign in at ${origin}; ${redirectUri} must be registered there as the return address`
      findings.push({ check, state: 'ok', message })
    } catch (error) {
      const advice =
        connectionAdvice(error) ?? 'check its address, and the network on the way to it'
      const message = `${name} does not answer (${reasonOf(error)}): ${advice}`
      findings.push({ check, state: 'failed', message })
    }
  }
  return findings
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
      const message = `${age}: too old to run requests. Start the server, or refresh them under Health on its page; its log says why a refresh failed`
      return { check, state: 'failed', message }
    }
    if (ageMs > 3 * catalogRefreshMs) {
      const message = `${age}, and the server reads them every ${durationText(catalogRefreshMs)}: see its log, or refresh them under Health on its page`
      return { check, state: 'warning', message }
    }
    return { check, state: 'ok', message: age }
  })
}

const LOOK_MS_MAX = 5 * MINUTE_MS

/** Compares the payments of the last day with their providers, and checks the age of the last look at them. */
export async function checkSale(
  input: CommandInput,
  opened: CommandContext,
): Promise<readonly Finding[]> {
  const { sale } = await openSale(opened, input.settings())
  if (sale === null) return [{ check: 'sale', state: 'ok', message: 'no credit is sold' }]
  const compared = await comparePayments(input, opened)
  const figures = await saleFigures(opened.store.db)
  return [compared, ...lookFindings(figures, opened.clock.nowMs()), ...heldFindings(figures)]
}

/** By position: the command's inputs, and the open store. */
async function comparePayments(input: CommandInput, opened: CommandContext): Promise<Finding> {
  const check = 'sale'
  try {
    const asked = { runs: 'checkSale', query: { days: '1' } }
    const { body } = await runOperation(input, { ...opened, letters: [] }, asked)
    const { checked, skipped, differences } = saleCheckShape.parse(body)
    if (differences.length === 0) {
      const rest = skipped === 0 ? '' : `; not compared: ${counted(skipped, 'skippedDeposit')}`
      const message = `the store agrees on ${counted(checked, 'payment')} of the last day${rest}`
      return { check, state: 'ok', message }
    }
    const message = `${counted(differences.length, 'paymentDifference')} from the store: \`tollgate sale check\` lists them`
    return { check, state: 'failed', message }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const message = `${error.message.replace(/\.$/, '')}: check the key at Stripe, or the nodes of the chain (docs/selling.md)`
    return { check, state: 'failed', message }
  }
}

function lookFindings({ looks }: SaleFigures, nowMs: number): readonly Finding[] {
  return looks.flatMap(({ source, lookedAtMs }): Finding[] => {
    const ageMs = nowMs - lookedAtMs
    if (ageMs <= LOOK_MS_MAX) return []
    const message = `payments were last read ${durationText(ageMs)} ago: if a server is running, its log says why`
    return [{ check: `sale by ${source}`, state: 'warning', message }]
  })
}

function heldFindings({ purchases }: SaleFigures): readonly Finding[] {
  const held = purchases.filter(({ state }) => state === 'held')
  const count = held.reduce((sum, each) => sum + each.purchases, 0)
  if (count === 0) return []
  const message = `${counted(count, 'purchase')} held until you decide: \`tollgate purchase list --state held\``
  return [{ check: 'purchases', state: 'warning', message }]
}

// One step of the connection: a person waits for it.
const MAIL_TIMEOUT_MS = 5_000

/** Connects to the mail server and signs in, without sending an email. */
export async function checkMail({
  mail,
}: Pick<CommandSettings, 'mail'>): Promise<readonly Finding[]> {
  const check = 'mail'
  if (mail === null) return [{ check, state: 'ok', message: 'no email is sent' }]
  const address = `${mail.server.host}:${mail.server.port}`
  try {
    await new MailServer({ ...mail, timeoutMs: MAIL_TIMEOUT_MS }).check()
    const accepts = mail.server.login === null ? 'answers' : 'accepts the user and the password'
    const message = `${address} ${accepts}; \`tollgate mail test <email>\` sends an email`
    return [{ check, state: 'ok', message }]
  } catch (error) {
    const message = `${address}: ${messageOf(error)}: correct SMTP_URL, or see the log of the mail server`
    return [{ check, state: 'failed', message }]
  }
}

/** The latest message to each webhook. */
export async function checkWebhooks({
  store: { db },
}: CommandContext): Promise<readonly Finding[]> {
  const webhooks = await listWebhooks(db)
  if (webhooks.length === 0) return [{ check: 'webhooks', state: 'ok', message: 'none is set up' }]
  const findings: Finding[] = []
  for (const { id, url, disabled } of webhooks) {
    const check = `webhook ${id}`
    if (disabled) {
      const message = `${url} is disabled: \`tollgate webhook enable ${id}\` sends messages to it again`
      findings.push({ check, state: 'warning', message })
      continue
    }
    const { rows } = await listDeliveries(db, { webhookId: id, cursor: null, limit: 1 })
    const [latest] = rows
    if (latest === undefined || (latest.state === 'waiting' && latest.attempts === 0)) {
      const message = `no message was sent to ${url} yet: \`tollgate webhook test ${id}\` sends one`
      findings.push({ check, state: 'ok', message })
    } else if (latest.state === 'delivered') {
      findings.push({ check, state: 'ok', message: `${url} received its latest message` })
    } else {
      const why = latest.failure ?? `it answered ${latest.httpStatus}`
      const message = `${url} did not receive its latest message (${why}): \`tollgate webhook deliveries ${id}\` lists the attempts`
      findings.push({ check, state: 'warning', message })
    }
  }
  return findings
}

/** The result of one check of `tollgate doctor`. */
export interface Finding {
  /** The subject of the check, such as `store` or `upstream openai`. */
  readonly check: string
  /** `warning`: needs attention, and requests run nevertheless. `failed`: requests or payments do not work. */
  readonly state: 'ok' | 'warning' | 'failed'
  /** The finding; unless the state is `ok`, also what to do. */
  readonly message: string
}

/** A duration as a person reads it: `40 s`, `12 min`, `3 h` or `4 days`. */
export function durationText(durationMs: number): string {
  const seconds = Math.max(0, Math.round(durationMs / 1_000))
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`
}
