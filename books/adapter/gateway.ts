import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../client.ts'
import { parseJson, valueAt } from '../json.ts'
import { PROVIDER_KEY } from '../provider/provider.ts'
import type { Adapter, Reading } from './adapter.ts'
import { freePort, LOG, launch, openStore, runCommand, undoAtEnd } from './processes.ts'
import { fill, labelOf, microsIn, moneyIn, type Step, takeStep, type Values } from './steps.ts'

/** The cost of a request by the gateway's own list. */
export type Row = Readonly<{ id: string; micros: number }>

/** The facts about the machine from the command line of a run. */
export type Machine = Readonly<Record<'binary' | 'postgres' | 'redis', string | undefined>>

const STARTS = 3

/** A gateway that runs, and what its adapter says about it. */
export class Gateway {
  readonly adapter: Adapter
  readonly dir: string
  readonly stores: Awaited<ReturnType<typeof openStore>>[] = []
  /** The started process; null if the suite did not start it. */
  main: ReturnType<typeof launch> | null = null
  readonly #machine: Machine
  readonly #removeDir: () => void
  #values: Values

  constructor(adapter: Adapter, providerPort: number, machine: Machine) {
    const { gateway, version, binary = '', model, url = '', bearer, set } = adapter
    const home = join(homedir(), '.cache', 'gateway-books', `${gateway}-${version}`)
    this.adapter = adapter
    this.dir = mkdtempSync(join(tmpdir(), `gateway-books-${gateway}-`))
    this.#removeDir = undoAtEnd(() =>
      rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 }),
    )
    this.#machine = machine
    this.#values = {
      ...{ ...set, home, dir: this.dir, model, url, bearer, ...moneyIn() },
      binary: machine.binary ?? fill(binary, { home }),
      provider: `http://127.0.0.1:${providerPort}`,
      provider_port: String(providerPort),
      provider_key: PROVIDER_KEY,
    }
  }

  /** Installs it where that was not done, starts it, and sets it up. */
  async open(): Promise<void> {
    const { adapter } = this
    const isOurs = adapter.url === undefined
    if (isOurs && this.#machine.binary === undefined) await this.#install()
    for (const need of adapter.needs) {
      const url = this.#machine[need]
      if (url === undefined) throw new Error(`${adapter.gateway} needs --${need} URL`)
      const store = await openStore(url)
      this.stores.push(store)
      this.#values = { ...this.#values, [need]: store.url }
    }
    this.#writeFiles()
    if (isOurs) await this.start()
  }

  async #install(): Promise<void> {
    const { install, gateway, build } = this.adapter
    const { home = '' } = this.#values
    const done = join(home, '.installed')
    const commands = install.map((command) => fill(command, { home }))
    if (existsSync(done) && readFileSync(done, 'utf8') === commands.join('\n')) return
    if (commands.length === 0 && build !== undefined)
      throw new Error(`${gateway} is in no registry: ${build}, and give --binary PATH`)
    mkdirSync(home, { recursive: true })
    for (const command of commands) await runCommand(command, home)
    writeFileSync(done, commands.join('\n'))
  }

  #writeFiles(): void {
    for (const [name, text] of Object.entries(this.adapter.files)) {
      const path = join(this.dir, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, fill(text, this.#values))
    }
  }

  get url(): string {
    return this.#values['url'] ?? ''
  }

  /** Headers of every request to it, beside the key. */
  get headers(): Values {
    return fill(this.adapter.headers, this.#values)
  }

  /** Starts it, at its former port where it had one. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const { running, at } = await this.launch(this.#values['port'], env)
    this.main = running
    this.#values = await this.run(this.adapter.after_restart, at)
  }

  /** Starts one more on the same store; at a port that one had, where there is one. */
  async launch(former?: string, env: NodeJS.ProcessEnv = {}) {
    const { start, gateway, file } = this.adapter
    if (start === undefined) throw new Error(`${file} has neither start nor url`)
    for (let port = former, tries = 1; ; tries++, port = undefined) {
      port ??= String(await freePort())
      const at = { port, url: `http://127.0.0.1:${port}` }
      const running = launch(fill(start.run, { ...this.#values, ...at }), this.dir, env)
      const until = Date.now() + start.within_s * 1_000
      const url = at.url + start.ready.replace('GET ', '')
      while (!running.isOver() && Date.now() < until) {
        const { httpStatus } = await ask({ url, timeoutMs: 2_000 })
        if (httpStatus >= 200 && httpStatus < 300) return { running, at }
        await sleep(50)
      }
      const words = running.isOver() ? 'ended' : `was not ready in ${start.within_s} s`
      await running.stop('SIGKILL')
      const last = readFileSync(join(this.dir, LOG), 'utf8').slice(-2_000)
      if (tries === STARTS) throw new Error(`${gateway} ${words}. Its last words:\n${last}`)
    }
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    await this.main?.stop(signal)
    this.main = null
  }

  /** Ends it by its own means, and starts it again. */
  async restart(env: NodeJS.ProcessEnv = {}): Promise<void> {
    await this.stop('SIGTERM')
    await this.start(env)
  }

  /** Ends everything and removes its folder. */
  async close(): Promise<void> {
    await this.stop('SIGTERM')
    for (const store of this.stores) await store.close()
    this.#removeDir()
  }

  /** Takes steps, and returns all values with those that they kept. */
  async run(steps: readonly Step[], given: Values = {}): Promise<Values> {
    let values: Values = { ...this.#values, ...given }
    for (const step of steps) {
      if (step.restart) {
        this.#values = values
        this.#writeFiles()
        await this.restart()
        continue
      }
      const answer = await this.ask(step, values)
      for (const [name, path] of Object.entries(step.keep ?? {})) {
        const value = valueAt(answer, path)
        if (value === undefined) throw new Error(`no ${path} in the answer of ${labelOf(step)}`)
        values = { ...values, [name]: String(value) }
      }
    }
    return values
  }

  /** Takes a step and returns what it is answered: the `value` of its JSON, all of it, or the text that is none. */
  async ask(step: Step & Partial<Reading>, given: Values = {}): Promise<unknown> {
    const answer = await takeStep(step, { ...this.#values, ...given })
    return valueAt(parseJson(answer) ?? answer.trim(), step.value ?? '')
  }

  /** Reads a sum, in micro-dollars. */
  async read(reading: Reading, given: Values): Promise<number> {
    const found = await this.ask(reading, given)
    return microsIn(found, reading.unit, `${labelOf(reading)}, ${reading.value}`)
  }

  /** Reads its list of requests, to the last page; null where the adapter lists none. */
  async rows(given: Values): Promise<readonly Row[] | null> {
    const { rows } = this.adapter
    if (rows === undefined) return null
    const found: Row[] = []
    const { id, cost, unit, next } = rows
    for (let more: string | null = ''; more !== null; ) {
      const json = await this.ask(rows, { ...given, next: more })
      const page = valueAt(json, rows.each)
      if (!Array.isArray(page)) throw new Error(`no list at "${rows.each}" in ${labelOf(rows)}`)
      for (const row of page) {
        const micros = microsIn(valueAt(row, cost) ?? 0, unit, `a row of ${labelOf(rows)}`)
        found.push({ id: String(id === undefined ? found.length : valueAt(row, id)), micros })
      }
      const after = next && page.length > 0 ? valueAt(json, next.path) : null
      more = (after ?? null) === null ? null : `${next?.as}${after}`
    }
    return found
  }
}
