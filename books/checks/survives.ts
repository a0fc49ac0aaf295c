import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  answered,
  type Check,
  judge,
  type Lab,
  money,
  mustAnswer,
  NotTried,
  ratio,
  type Sent,
} from './lab.ts'
import { PLAIN_MICROS, untilRefused } from './limits.ts'

const TIME_LIBRARIES = ['x86_64', 'aarch64'].map(
  (machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`,
)
const HOUR = 1

/** Sets the gateway's clock so many hours from the true time; starts it again where it has no step for that. */
async function setClock(lab: Lab, hours: number): Promise<void> {
  const { step_clock: steps } = lab.adapter
  if (steps !== undefined) return void (await lab.gateway.run(steps, { hours: String(hours) }))
  const library = TIME_LIBRARIES.find((path) => existsSync(path))
  if (library === undefined) throw new NotTried('no libfaketime on this machine')
  if (lab.gateway.pid === null) throw new NotTried('the suite did not start the gateway')
  const file = join(lab.gateway.dir, 'clock')
  const isFaked = existsSync(file)
  writeFileSync(file, `${hours < 0 ? '' : '+'}${hours}h\n`)
  if (isFaked) return
  await lab.gateway.stop('SIGTERM')
  await lab.gateway.start({
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    DONT_FAKE_MONOTONIC: '1',
  })
}

/** Whether what is known survives a crash, a restart, a lost store and a stepped clock. */
export const SURVIVES: readonly Check[] = [
  {
    name: 'kill',
    promise: 'what was answered before kill -9 stays charged',
    needs: ['start'],
    async run(lab) {
      const purse = await lab.fund(100 * PLAIN_MICROS)
      const settled = await lab.many(10, 5, () => lab.send(purse))
      mustAnswer(settled)
      await lab.spent(purse)
      const running = lab.many(10, 10, () =>
        lab.send(purse, { out: 200, gap: 50 }, { stream: true }),
      )
      // All of them have begun.
      while (
        lab.lines().filter(({ end, out }) => end === 'running' && out > 2).length < 10 &&
        lab.lines().length < 40
      )
        await sleep(10)
      await lab.gateway.stop('SIGKILL')
      await running
      await lab.gateway.start()
      const charged = await lab.spent(purse)
      const billed = lab.billed(settled)
      const underWay = lab.billed() - billed
      const held = lab.adapter.held === undefined ? null : await lab.read(lab.adapter.held, purse)
      const words = `settled ${money(billed)}, charged after the start ${money(charged)}; of what was under way ${ratio(Math.max(0, charged - billed), underWay)}${held === null ? '' : `, held ${money(held)}`}`
      return judge(charged >= billed, words, { billed, charged, underWay })
    },
  },
  {
    name: 'restart',
    promise: 'a restart forgets nothing',
    needs: ['start'],
    async run(lab) {
      const purse = await lab.fund(3 * PLAIN_MICROS)
      mustAnswer(await untilRefused(lab, purse, 6), 1)
      const before = await lab.spent(purse)
      await lab.gateway.stop('SIGTERM')
      await lab.gateway.start()
      const after = await lab.spent(purse)
      const { answer } = await lab.send(purse)
      const isRefused = answer.httpStatus >= 400 && answer.httpStatus < 500
      return judge(
        after === before && isRefused,
        `spent ${money(before)} before, ${money(after)} after; then ${answer.httpStatus}`,
        { before, after },
      )
    },
  },
  {
    name: 'store-away',
    promise: 'no store, no free answers',
    needs: ['store'],
    async run(lab) {
      const purse = await lab.fund(2_000 * PLAIN_MICROS)
      mustAnswer([await lab.send(purse)])
      for (const store of lab.gateway.stores) await store.setAway(true)
      const during: Promise<Sent>[] = []
      for (let turn = 0; turn < lab.few(30, 100); turn++) {
        during.push(lab.send(purse))
        await sleep(100)
      }
      for (const store of lab.gateway.stores) await store.setAway(false)
      const sent = await Promise.all(during)
      const until = Date.now() + 30_000
      while ((await lab.send(purse)).answer.httpStatus !== 200 && Date.now() < until)
        await sleep(200)
      const charged = await lab.spent(purse)
      const billed = lab.billed()
      const refused = sent.filter(({ answer }) => answer.httpStatus >= 500).length
      const others = sent.length - refused - answered(sent).length
      const words = `${sent.length} requests while it was away: ${answered(sent).length} answered, ${refused} refused with 5xx, ${others} others; charged ${money(charged)}, billed ${money(billed)}`
      return judge(Math.abs(charged - billed) <= lab.sent.length, words, {
        charged,
        billed,
        others,
      })
    },
  },
  {
    name: 'clock',
    promise: 'a stepped clock gives no money',
    async run(lab) {
      const purse = await lab.fund(3 * PLAIN_MICROS)
      mustAnswer(await untilRefused(lab, purse, 6), 1)
      const before = await lab.spent(purse)
      const seen: string[] = []
      let isKept = true
      try {
        for (const hours of [HOUR, -HOUR]) {
          await setClock(lab, hours)
          const spent = await lab.spent(purse)
          const { answer } = await lab.send(purse)
          isKept &&= spent >= before && answer.httpStatus >= 400 && answer.httpStatus < 500
          seen.push(`${hours} h: spent ${money(spent)}, then ${answer.httpStatus}`)
        }
      } finally {
        await setClock(lab, 0)
      }
      return judge(isKept, `spent ${money(before)}; ${seen.join('; ')}`)
    },
  },
]
