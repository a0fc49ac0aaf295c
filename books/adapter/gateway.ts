import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, ask } from '../client.ts'
import { isRecord, valueAt } from '../json.ts'
import { MODELS, PROVIDER_KEY } from '../provider/provider.ts'
import {
  type Adapter,
  AdapterError,
  fill,
  fillAll,
  type Reading,
  type Rows,
  type Step,
  type Values,
} from './adapter.ts'
import { freePort, launch, openStore, type Running, runCommand, type Store } from './processes.ts'

/** Where a gateway's own list of requests says what each cost. */
export interface Row {
  readonly id: string
  readonly micros: number
}

interface OpenInput {
  readonly adapter: Adapter
  readonly providerPort: number
  readonly binary: string | null
  readonly urls: Readonly<Record<'postgres' | 'redis', string | null>>
}

const STARTS = 3
const DOLLAR = 1_000_000

/** A gateway that runs, and what its adapter says about it. */
export class Gateway {
  readonly adapter: Adapter
  readonly dir: string
  readonly stores: readonly Store[]
  #values: Values
  #main: Running | null = null
  readonly #others: Running[] = []

  private constructor(adapter: Adapter, stores: readonly Store[], values: Values) {
    this.adapter = adapter
    this.dir = values['dir'] ?? ''
    this.stores = stores
    this.#values = values
  }

  /** Installs it where that was not done, starts it, and sets it up. */
  static async open({ adapter, providerPort, binary, urls }: OpenInput): Promise<Gateway> {
    const home = join(homedir(), '.cache', 'gateway-books', `${adapter.gateway}-${adapter.version}`)
    const dir = mkdtempSync(join(tmpdir(), `gateway-books-${adapter.gateway}-`))
    const places: Values = { home, dir }
    if (binary === null && adapter.url === undefined) install(adapter, places)
    const stores: Store[] = []
    const addresses: Record<string, string> = {}
    for (const need of adapter.needs) {
      const url = urls[need] ?? fail(`${adapter.gateway} needs --${need} URL`)
      const store = await openStore(url)
      stores.push(store)
      addresses[need] = store.url
    }
    const gateway = new Gateway(adapter, stores, {
      ...adapter.set,
      ...places,
      ...addresses,
      binary: binary ?? fill(adapter.binary ?? '', places),
      provider: `http://127.0.0.1:${providerPort}`,
      provider_port: String(providerPort),
      provider_key: PROVIDER_KEY,
      model: adapter.model,
    })
    try {
      await gateway.#begin()
    } catch (error) {
      await gateway.close()
      throw error
    }
    return gateway
  }

  async #begin(): Promise<void> {
    for (const [name, text] of Object.entries(this.adapter.files)) {
      const path = join(this.dir, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, fill(text, this.#values))
    }
    if (this.adapter.url === undefined) await this.start()
    else this.#values = { ...this.#values, url: this.adapter.url }
    this.#values = await this.run(this.adapter.setup)
  }

  get url(): string {
    return this.#values['url'] ?? ''
  }

  /** Headers of every request to it, beside the key. */
  get headers(): Values {
    const { headers } = this.adapter
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, fill(value, this.#values)]),
    )
  }

  /** The leader of its process group; null where the suite did not start it. */
  get pid(): number | null {
    return this.#main?.pid ?? null
  }

  /** Everything that it has printed. */
  get log(): string {
    const path = join(this.dir, 'gateway.log')
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }

  /** Starts it, at its former port where it had one. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const { running, port } = await this.#launch(this.#values['port'] ?? null, env)
    this.#main = running
    this.#values = { ...this.#values, port, url: `http://127.0.0.1:${port}` }
    this.#values = await this.run(this.adapter.after_restart)
  }

  /** Starts a second one on the same store and returns its address. */
  async startSecond(): Promise<string> {
    const { running, port } = await this.#launch(null, {})
    this.#others.push(running)
    return `http://127.0.0.1:${port}`
  }

  async #launch(
    former: string | null,
    env: NodeJS.ProcessEnv,
  ): Promise<{ running: Running; port: string }> {
    const { start } = this.adapter
    if (start === undefined)
      throw new AdapterError(`${this.adapter.file} has neither start nor url`)
    let words = ''
    for (let tries = 0; tries < STARTS; tries++) {
      const port = tries === 0 && former !== null ? former : String(await freePort())
      const values = { ...this.#values, port, url: `http://127.0.0.1:${port}` }
      const command = fill(start.run, values)
      const running = launch(command, { dir: this.dir, log: join(this.dir, 'gateway.log'), env })
      const until = Date.now() + start.within_s * 1_000
      while (!running.isOver() && Date.now() < until) {
        const { httpStatus } = await ask({
          url: `${values.url}${start.ready.replace('GET ', '')}`,
          timeoutMs: 2_000,
        })
        if (httpStatus >= 200 && httpStatus < 300) return { running, port }
        await sleep(50)
      }
      words = running.isOver() ? 'ended' : `was not ready in ${start.within_s} s`
      await running.stop('SIGKILL')
    }
    throw new Error(`${this.adapter.gateway} ${words}. Its last words:\n${this.log.slice(-2_000)}`)
  }

  /** Ends it with a signal. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    await this.#main?.stop(signal)
    this.#main = null
  }

  /** Ends second instances. */
  async stopOthers(): Promise<void> {
    for (const other of this.#others.splice(0)) await other.stop('SIGTERM')
  }

  /** Ends everything and removes its folder. */
  async close(): Promise<void> {
    await this.stopOthers()
    await this.stop('SIGTERM')
    for (const store of this.stores) await store.close()
    rmSync(this.dir, { recursive: true, force: true })
  }

  /** Takes steps, and returns all values with those that they kept. */
  async run(steps: readonly Step[], given: Values = {}): Promise<Values> {
    let values: Values = { ...this.#values, ...given }
    for (const step of steps) {
      const { json } = await this.#take(step, values)
      const kept: Record<string, string> = {}
      for (const [name, path] of Object.entries(step.keep ?? {})) {
        const value = valueAt(json, path)
        if (value === undefined) throw new Error(`no ${path} in the answer of ${labelOf(step)}`)
        kept[name] = String(value)
      }
      values = { ...values, ...kept }
    }
    return values
  }

  /** Reads a sum, in micro-dollars. */
  async read(reading: Reading, given: Values): Promise<number> {
    const { json } = await this.#take(reading, { ...this.#values, ...given })
    return microsIn(
      valueAt(json, reading.value),
      reading.unit,
      `${labelOf(reading)}, ${reading.value}`,
    )
  }

  /** Reads a text, such as the version that the gateway says it is. */
  async readText(reading: Reading): Promise<string> {
    const { json, text } = await this.#take(reading, this.#values)
    return reading.value === '' ? text.trim() : String(valueAt(json, reading.value))
  }

  /** Reads its list of requests, to the last page. */
  async rows(rows: Rows, given: Values): Promise<readonly Row[]> {
    const found: Row[] = []
    for (let next: string | null = ''; next !== null; ) {
      const { json } = await this.#take(rows, { ...this.#values, ...given, next })
      const page = valueAt(json, rows.each)
      if (!Array.isArray(page)) throw new Error(`no list at "${rows.each}" in ${labelOf(rows)}`)
      for (const [index, row] of page.entries())
        found.push({
          id: rows.id === undefined ? String(found.length) : String(valueAt(row, rows.id)),
          micros: microsIn(
            valueAt(row, rows.cost) ?? 0,
            rows.unit,
            `row ${index} of ${labelOf(rows)}`,
          ),
        })
      const after =
        rows.next === undefined || page.length === 0 ? null : valueAt(json, rows.next.path)
      next = after === null || after === undefined ? null : `${rows.next?.as}${after}`
    }
    return found
  }

  async #take(step: Step, values: Values): Promise<{ json: unknown; text: string }> {
    if (step.run !== undefined) {
      const text = runCommand(fill(step.run, values), this.dir)
      return { json: parse(text), text }
    }
    const method = (['get', 'post', 'put', 'patch', 'delete'] as const).find(
      (name) => step[name] !== undefined,
    )
    if (method === undefined)
      throw new AdapterError(`${this.adapter.file} a step has neither a method nor run`)
    const url = `${values['url']}${fill(step[method] ?? '', values)}`
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (step.bearer !== undefined) headers['authorization'] = `Bearer ${fill(step.bearer, values)}`
    for (const [name, value] of Object.entries(step.headers ?? {}))
      headers[name] = fill(value, values)
    const body = step.body === undefined ? {} : { body: JSON.stringify(fillAll(step.body, values)) }
    const answer = await ask({ url, method: method.toUpperCase(), headers, ...body })
    if (answer.httpStatus < 200 || answer.httpStatus > 299)
      throw new Error(`${labelOf(step)} answered ${said(answer)}`)
    return { json: parse(answer.text), text: answer.text }
  }
}

/** Sums with 1 micro-dollar where a dollar's digits end; what is no sum is a fault of the adapter. */
function microsIn(value: unknown, unit: string | number | undefined, where: string): number {
  if (Array.isArray(value))
    return value.reduce((sum: number, item) => sum + microsIn(item, unit, where), 0)
  const number = value === null ? 0 : Number(value)
  if (value === undefined || Number.isNaN(number)) throw new Error(`no sum in ${where}`)
  const micros =
    number *
    (unit === undefined || unit === 'dollars' ? DOLLAR : unit === 'micros' ? 1 : Number(unit))
  // A gateway of floating point owes the nearest thousandth; drift is what is above it.
  return Math.round(micros * 1_000) / 1_000
}

function install(adapter: Adapter, places: Values): void {
  const home = places['home'] ?? ''
  const done = join(home, '.installed')
  const commands = adapter.install.map((command) => fill(command, places))
  if (existsSync(done) && readFileSync(done, 'utf8') === commands.join('\n')) return
  mkdirSync(home, { recursive: true })
  if (commands.length === 0 && adapter.build !== undefined)
    throw new AdapterError(
      `${adapter.gateway} is in no registry: ${adapter.build}, and give --binary PATH`,
    )
  for (const command of commands) runCommand(command, home)
  writeFileSync(done, commands.join('\n'))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function labelOf(step: Step): string {
  const [method = '', target = ''] =
    Object.entries(step).find(([name]) => /^(?:get|post|put|patch|delete|run)$/.test(name)) ?? []
  return `${method.toUpperCase()} ${isRecord(target) ? '' : target}`
}

function said({ httpStatus, broke, text }: Answer): string {
  return httpStatus === 0 ? `nothing: ${broke}` : `${httpStatus}: ${text.slice(0, 300)}`
}

function fail(message: string): never {
  throw new AdapterError(message)
}

/** The model without a price, as the provider names it. */
export const UNPRICED = MODELS[1] ?? ''
