import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Checks, check, type Lab, PLAIN_MICROS, type Purse } from './lab.ts'
import { spendAll } from './limits.ts'
import { answered, isRefused, mustAnswer, type Sent } from './sent.ts'
import { adding, compare, judge, Lacking, money, ratio, tell, type Verdict } from './verdict.ts'

/** Sets the gateway's clock so many hours from the true time; starts it again where it has no step for that. */
async function setClock(lab: Lab, hours: number): Promise<void> {
  const { step_clock: steps } = lab.adapter
  if (steps !== undefined) return void (await lab.gateway.run(steps, { hours: String(hours) }))
  const folders = ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime`)
  const library = folders.map((folder) => join(folder, 'libfaketime.so.1')).find(existsSync)
  if (library === undefined) throw new Lacking('no libfaketime on this machine')
  if (lab.gateway.main === null) throw new Lacking('the suite did not start the gateway')
  const file = join(lab.gateway.dir, 'clock')
  const isFaked = existsSync(file)
  writeFileSync(file, `${hours < 0 ? '' : '+'}${hours}h\n`)
  if (isFaked) return
  const faked = { LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: file }
  await lab.gateway.restart({ ...faked, FAKETIME_NO_CACHE: '1', DONT_FAKE_MONOTONIC: '1' })
}

/** The age of the youngest surviving charge, if this many of the charges of these ages survived, the oldest first. */
export function survivalText(agesS: readonly number[], count: number) {
  const survivesAfterS = agesS[Math.min(Math.round(count), agesS.length) - 1]
  if (survivesAfterS !== undefined) return tell`; a charge survives after ${{ survivesAfterS }} s`
  return tell`; no charge of the last ${Math.ceil(agesS[0] ?? 0)} s survives`
}

/** How much stays held, and for how long. */
async function holding(lab: Lab, purse: Purse) {
  const { held } = lab.adapter
  if (held === undefined) return ''
  let micros = 0
  const isFree = async (): Promise<boolean> => {
    micros = await lab.gateway.read(held, purse)
    return micros === 0
  }
  const heldMinutes = (await lab.until(isFree, lab.bench.patienceMs)) / 60_000
  return tell`; ${{ held: micros }} held ${{ heldMinutes }} min after the start`
}

async function kill(lab: Lab): Promise<Verdict> {
  lab.need('start')
  const late = await lab.fund()
  const purse = await lab.fund(100 * PLAIN_MICROS)
  const settled = await lab.many(10, 5, [purse])
  mustAnswer(settled)
  await lab.spent(purse)
  const before = await lab.spent(late)
  const answeredAt: number[] = []
  const answer = async (): Promise<void> => {
    mustAnswer([await lab.send(late)])
    answeredAt.push(Date.now())
  }
  for (let turn = 1; turn < lab.few(3, 10); turn++)
    await answer().then(() => sleep(lab.few(300, 3_000)))
  const running = lab.many(10, 10, [purse, { out: 200, gap: 50 }, { stream: true }])
  const begun = () => lab.lines().filter(({ end, out }) => end === 'running' && out > 2)
  await lab.until(() => begun().length === 10)
  await answer()
  const agesS = answeredAt.map((at) => (Date.now() - at) / 1_000)
  await lab.gateway.stop('SIGKILL')
  const streams = await running
  await lab.gateway.start()
  const held = await holding(lab, purse)
  const charged = await lab.spent(purse)
  const charges = ((await lab.spent(late)) - before) / (PLAIN_MICROS * lab.adapter.fee_factor)
  const [billed, underWay] = [lab.billed(settled), lab.billed(streams)]
  const share = ratio(Math.max(0, charged - billed), underWay)
  const told = tell`settled ${{ billed }}, charged after the start ${{ charged }}; of what was under way, ${{ underWay }}, ${share}`
  const verdict = adding(judge(charged >= billed, told), held)
  return adding(verdict, survivalText(agesS, Math.max(0, charges)))
}

async function storeAway(lab: Lab): Promise<Verdict> {
  const { stores } = lab.gateway
  if (stores.length === 0) lab.lack('store')
  const purse = await lab.fund(2_000 * PLAIN_MICROS)
  mustAnswer([await lab.send(purse)])
  for (const store of stores) await store.setAway(true)
  const during: Promise<Sent>[] = []
  for (let turn = 0; turn < lab.few(30, 100); turn++) {
    during.push(lab.send(purse))
    await sleep(100)
  }
  for (const store of stores) await store.setAway(false)
  const sent = await Promise.all(during)
  const until = Date.now() + 30_000
  while (answered([await lab.send(purse)]).length === 0 && Date.now() < until) await sleep(200)
  const charged = await lab.spent(purse)
  const whole = answered(sent).length
  const refused = sent.filter(({ answer }) => answer.httpStatus >= 500).length
  const words = `; of ${sent.length} requests while it was away, ${whole} answered, ${refused} refused with 5xx, ${sent.length - whole - refused} others`
  return adding(compare(charged, lab.billed(), lab.sent.length), words)
}

/** Spends all of a small budget, and looks whether it stays spent after each of some events. */
async function staysSpent(lab: Lab, events: Record<string, () => Promise<void>>): Promise<Verdict> {
  const purse = await spendAll(lab)
  const before = await lab.spent(purse)
  const seen: string[] = []
  let isKept = true
  for (const [name, happen] of Object.entries(events)) {
    await happen()
    const spent = await lab.spent(purse)
    const sent = await lab.send(purse)
    isKept &&= spent === before && isRefused(sent)
    seen.push(`${name}: spent ${money(spent)}, then ${sent.answer.httpStatus}`)
  }
  return judge(isKept, tell`spent ${{ before }}; ${seen.join('; ')}`)
}

/** Whether what is known survives a crash, a restart, a lost store and a stepped clock. */
export const survives: Checks = {
  kill: check('what was answered before kill -9 stays charged', kill, 240),
  restart: check('a restart forgets nothing', async (lab) => {
    lab.need('start')
    return staysSpent(lab, { 'started again': () => lab.gateway.restart() })
  }),
  'store-away': check('no store, no free answers', storeAway),
  clock: check('a stepped clock gives no money', (lab) => {
    const step = (hours: number) => () => setClock(lab, hours)
    return staysSpent(lab, { '1 h': step(1), '-1 h': step(-1) }).finally(step(0))
  }),
}
