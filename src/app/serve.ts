import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import type { Terminal } from '../cli/terminal.ts'
import { listAccounts } from '../ledger/accounts.ts'
import { createApiKey } from '../ledger/api-keys.ts'
import { showDatabaseUrl } from '../store/database-url.ts'
import { collectGarbage } from '../store/sqlite/store-thread.ts'
import type { ConfiguredUpstreams } from '../upstreams/upstream-settings.ts'
import { micros } from '../vocabulary/money.ts'
import {
  type Config,
  configFromEnvironment,
  environment,
  SETTINGS,
  shortTokenWarnings,
  storeUrlOf,
  typedName,
} from './config.ts'
import { configuredUpstreams, oneUpstream, unreadKeyNote } from './configured-upstreams.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { openLog } from './log.ts'
import { makeSetupLink, pageAddress } from './open-page.ts'
import { faultOfBuild } from './page-stamp.ts'
import { misnomersIn } from './settings/near-names.ts'
import { stopSignal } from './wiring.ts'

/** The key for the simulator, which accepts any. */
const SIMULATOR_API_KEY = 'simulator'

/** `tollgate serve`: runs until a signal stops it. Rejects if it can't start. */
export async function serve(terminal: Terminal): Promise<void> {
  const config = configFromEnvironment()
  const closing = new AsyncDisposableStack()
  const { log, close } = openLog({
    level: config.LOG_LEVEL,
    isForPeople: process.stdout.isTTY === true,
  })
  closing.defer(close)
  // From here on, signals wait: a start that a signal ended would leave its writes in the store's log.
  const stopping = stopSignal({ log, isBelowNpm: typedName() !== 'tollgate' })
  let server: Gateway
  try {
    warnOfMisnomers(log)
    for (const warning of shortTokenWarnings(config)) log.warn(warning)
    const configured =
      (await configuredUpstreams(config, environment())) ??
      (await openSimulator({ config, log }, closing))
    server = await startGateway({ config, configured, log })
    closing.defer(() => server.close())
    await greet({ server, config, terminal, mode: configured.mode })
    const setupLink = await makeSetupLink({ config, server })
    if (setupLink !== null) terminal.note(setupNote(setupLink))
    else if (config.TOLLGATE_PAGE === 'on') {
      terminal.note(`The page: ${pageAddress({ config, address: server.address })}\n`)
    }
    collectStartGarbage()
  } catch (error) {
    await closing.disposeAsync()
    throw error
  }
  log.info({ address: server.address, store: showDatabaseUrl(storeUrlOf(config)) }, 'serving')
  if (config.TOLLGATE_PAGE === 'on') void warnOfStalePage(log)
  await stopping
  await closing.disposeAsync()
}

/** Gives back what the start left in the heap, a tenth of the memory at rest. Takes some 80 ms. */
function collectStartGarbage(): void {
  // After a full collection, V8 lets the heap grow by so much of what is left before the next one. By itself it allows
  // less, and requests would pay for more full collections than without this one.
  setFlagsFromString('--heap-growing-percent=400')
  // The first requests would compile again what the collection throws away.
  setFlagsFromString('--no-flush-bytecode')
  collectGarbage()
  // Later collections follow V8's own rule. Under this one, the heap grew to half a gigabyte with 1,000 streams.
  setFlagsFromString('--heap-growing-percent=0')
}

function warnOfMisnomers(log: Logger): void {
  for (const { name, rightName } of misnomersIn(environment(), Object.keys(SETTINGS))) {
    log.warn(
      rightName.startsWith('UPSTREAM_')
        ? `${name} is set but is not a setting: set ${rightName} instead, or use the file of TOLLGATE_UPSTREAMS`
        : `${name} is set but is not a setting: set ${rightName} instead`,
    )
  }
}

/** Reads the sources of the page while requests are served already. Never rejects. */
async function warnOfStalePage(log: Logger): Promise<void> {
  const fault = await faultOfBuild().catch(() => null)
  if (fault !== null) log.warn(fault)
}

async function openSimulator(
  { config, log }: { readonly config: Config; readonly log: Logger },
  closing: AsyncDisposableStack,
): Promise<ConfiguredUpstreams> {
  const { startSimulator } = await import('../../simulator/simulator.ts')
  const simulator = await startSimulator({ record: false, control: false })
  closing.defer(() => simulator.close())
  log.warn('no upstream is configured: the built-in simulator answers, and all money is play money')
  const unread = unreadKeyNote(environment())
  if (unread !== null) log.warn(unread)
  const { baseUrl } = simulator
  return oneUpstream(config, { mode: 'simulator', baseUrl, apiKey: SIMULATOR_API_KEY })
}

// The texts of a start have at most 80 characters in a line, as a terminal has.
const PLAY = 'The built-in simulator answers:\nno model runs, and all money is play money.'

function noAccountNote(): string {
  return `
There is no account yet. Create one in another terminal: the command prints the
next steps.

  ${typedName()} account create "Ada Lovelace"
`
}

function setupNote(setupLink: string): string {
  return `To use the page, open this link, which makes you the first operator. It works
once, within 24 hours.

  ${setupLink}
`
}

/** Prints the next steps that the operator has not done yet. */
async function greet({
  server,
  config,
  terminal,
  mode,
}: {
  readonly server: Gateway
  readonly config: Config
  readonly terminal: Terminal
  readonly mode: ConfiguredUpstreams['mode']
}): Promise<void> {
  const { address, store } = server
  const [account] = (await listAccounts(store.db, { limit: 1 })).accounts
  if (mode === 'live') {
    if (account === undefined) terminal.note(noAccountNote())
    return
  }
  if (account !== undefined) {
    terminal.note(`
tollgate is ready at ${address}. ${PLAY}

Keys are shown once. For another one, in another terminal:

  ${typedName()} key create ${account.id}
`)
    return
  }
  const first = await makeFirstAccount(server, config.TOLLGATE_KEY_TAG)
  terminal.note(`
tollgate is ready. ${PLAY}

  account  ${first.accountId}, with $10 of credit
  key      ${first.apiKey}
           It is shown only once.

Try it:

  curl -i ${address}/v1/chat/completions -H 'authorization: Bearer ${first.apiKey}' -H 'content-type: application/json' -d '{"model":"sim/text","messages":[{"role":"user","content":"Say hello."}]}'

Then see its charge, in another terminal:

  ${typedName()} request list

Every endpoint, with a command to paste: ${address}/docs
How to use a real provider: docs/upstreams.md
`)
}

const FIRST_CREDIT = micros(10_000_000)

/**
 * Makes one account with $10 of play money and one key, on a store without accounts. Only for the simulator's store: a printed key must never spend real credit.
 */
export async function makeFirstAccount(
  { ledger, ids }: Pick<Gateway, 'ledger' | 'ids'>,
  keyTag: string,
) {
  const account = await ledger.createAccount({ id: ids.next('acct'), name: 'first' })
  await ledger.addCredit({
    accountId: account.id,
    purse: 'backed',
    amountMicros: FIRST_CREDIT,
    expiresAtMs: null,
    reference: 'first-start',
  })
  const created = await createApiKey(ledger, {
    id: ids.next('key'),
    accountId: account.id,
    name: 'first',
    keyTag,
  })
  if (created === null) throw new Error('the account that was just created is gone')
  return { accountId: account.id, apiKey: created.text }
}
