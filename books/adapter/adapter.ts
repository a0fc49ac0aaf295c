import { readFileSync } from 'node:fs'
import { isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import { isRecord } from '../json.ts'

/** A file that can't be used: what is wrong, and where. Ends the run with 3 before anything starts. */
export class AdapterError extends Error {}

/** One HTTP call to the gateway, or one shell command; `keep` gives names to values of its JSON. */
export interface Step {
  readonly get?: string
  readonly post?: string
  readonly put?: string
  readonly patch?: string
  readonly delete?: string
  readonly run?: string
  readonly bearer?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly keep?: Readonly<Record<string, string>>
}

/** Where a sum is read; `unit` is `dollars`, `micros`, or micro-dollars a unit. */
export interface Reading extends Step {
  readonly value: string
  readonly unit?: string | number
  readonly settles_within_s?: number
  /** How long a sum may stand still before it moves. */
  readonly flushes_every_s?: number
}

/** Where the gateway's own list of requests is read; `next` is where an answer says what its next page is asked with. */
export interface Rows extends Step {
  readonly each: string
  readonly id?: string
  readonly cost: string
  readonly unit?: string | number
  readonly next?: { readonly path: string; readonly as: string }
}

/** What the gateway's documentation says that it charges, and the page that says so. */
export interface Policy {
  readonly charge: 'nothing' | 'prompt' | 'billed' | 'whole'
  readonly docs: string
}

/** A gateway, as one YAML file tells it. */
export interface Adapter {
  readonly file: string
  readonly text: string
  readonly gateway: string
  readonly version: string
  readonly maker?: string
  readonly replies?: string
  readonly install: readonly string[]
  readonly binary?: string
  readonly build?: string
  readonly needs: readonly ('postgres' | 'redis')[]
  readonly formats: readonly ('chat' | 'messages')[]
  readonly docs: string
  readonly files: Readonly<Record<string, string>>
  readonly url?: string
  readonly provider_port: number
  readonly start?: { readonly run: string; readonly ready: string; readonly within_s: number }
  readonly instances?: 'shared'
  readonly reported?: Reading
  readonly setup: readonly Step[]
  /** Headers of every request, beside the key. */
  readonly headers: Values
  readonly model: string
  readonly unpriced_model: string
  readonly new_account?: readonly Step[]
  readonly new_key: readonly Step[]
  readonly spent?: Reading
  readonly left?: Reading
  readonly held?: Reading
  readonly top_up?: readonly Step[]
  readonly reprice?: readonly Step[]
  readonly step_clock?: readonly Step[]
  readonly rows?: Rows
  readonly logs: readonly string[]
  readonly after_restart: readonly Step[]
  readonly in_flight: number
  readonly fee_factor: number
  readonly policy: Readonly<Record<string, Policy>>
  readonly lacks: Readonly<Record<string, string>>
  /** What the gateway has and can't be tried here, with the reason. */
  readonly untried: Readonly<Record<string, string>>
  readonly footnotes: Readonly<Record<string, string>>
  readonly set: Readonly<Record<string, string>>
}

const STEP = ['get', 'post', 'put', 'patch', 'delete', 'run', 'bearer', 'headers', 'body', 'keep']
const READING = [...STEP, 'value', 'unit', 'settles_within_s', 'flushes_every_s']
const ROWS = [...STEP, 'each', 'id', 'cost', 'unit', 'next']

/** The keys of each section: null for any. A section of steps is checked in each of them. */
const SECTIONS: Readonly<Record<string, readonly string[] | null>> = {
  ...Object.fromEntries(
    [
      'gateway',
      'version',
      'maker',
      'replies',
      'install',
      'binary',
      'build',
      'needs',
      'formats',
      'variants',
      'files',
      'url',
    ]
      .concat(
        'provider_port',
        'instances',
        'model',
        'unpriced_model',
        'logs',
        'headers',
        'in_flight',
        'fee_factor',
      )
      .concat('policy', 'lacks', 'untried', 'footnotes')
      .map((name) => [name, null]),
  ),
  ...Object.fromEntries(
    ['setup', 'new_account', 'new_key', 'top_up', 'reprice', 'step_clock', 'after_restart'].map(
      (name) => [name, STEP],
    ),
  ),
  ...Object.fromEntries(['spent', 'left', 'held', 'reported'].map((name) => [name, READING])),
  rows: ROWS,
  start: ['run', 'ready', 'within_s'],
}

const NEEDED = ['gateway', 'version', 'model', 'new_key']

/** Names that the suite gives a value, beside those that steps keep and variants set. */
const GIVEN =
  'dir home port url provider provider_port provider_key postgres redis binary micros dollars prefix factor hours next model key account'

// Of these releases, two had a thief's code in them and one its successor's.
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  litellm: ['1.82.7', '1.82.8', '1.107.0'],
}

/** Reads an adapter and one of its variants. Throws AdapterError. */
export function readAdapter(file: string, variant: string): Adapter {
  const text = readFileSync(file, 'utf8')
  const counter = new LineCounter()
  const document = parseDocument(text, { lineCounter: counter })
  const at = (offset: number | undefined): string => `${file}:${counter.linePos(offset ?? 0).line}`
  const [error] = document.errors
  if (error !== undefined) throw new AdapterError(`${at(error.pos[0])} ${error.message}`)
  const known = new Set(GIVEN.split(' '))
  const uses: { readonly name: string; readonly at: string }[] = []
  visit(document, {
    Pair(_, { key, value }) {
      if (!isScalar(key) || !['keep', 'set'].includes(String(key.value)) || !isMap(value)) return
      for (const pair of value.items) if (isScalar(pair.key)) known.add(String(pair.key.value))
    },
    Scalar(_, { value, range }) {
      for (const [, name = ''] of String(value).matchAll(TEMPLATE))
        uses.push({ name, at: at(range?.[0]) })
    },
  })
  const lost = uses.find(({ name }) => !known.has(name))
  if (lost !== undefined) {
    const names = [...known].sort().join(', ')
    throw new AdapterError(`${lost.at} {${lost.name}} has no value. These have: ${names}`)
  }
  if (!isMap(document.contents)) throw new AdapterError(`${at(0)} is no map of sections`)
  for (const { key, value } of document.contents.items) {
    if (!isScalar(key)) continue
    checkKeys(String(key.value), value, (offset) => at(offset ?? key.range?.[0]))
  }
  const root: unknown = document.toJS()
  if (!isRecord(root)) throw new AdapterError(`${at(0)} is no map of sections`)
  for (const name of NEEDED)
    if (root[name] === undefined) throw new AdapterError(`${at(0)} ${name} is missing`)
  return pickVariant({ root, file, text, variant })
}

function checkKeys(section: string, value: unknown, at: (offset?: number) => string): void {
  if (!(section in SECTIONS)) {
    const keys = Object.keys(SECTIONS).sort().join(', ')
    throw new AdapterError(`${at()} ${section} is no key of an adapter. These are: ${keys}`)
  }
  const keys = SECTIONS[section]
  if (keys === null || keys === undefined) return
  const steps: unknown[] = isSeq(value) ? value.items : [value]
  for (const step of steps) {
    if (!isMap(step)) throw new AdapterError(`${at()} ${section} has a step that is no map`)
    for (const { key } of step.items) {
      const name = isScalar(key) ? String(key.value) : ''
      if (!keys.includes(name)) {
        const where = at(isScalar(key) ? key.range?.[0] : undefined)
        throw new AdapterError(
          `${where} ${name} is no key of ${section}. These are: ${keys.join(', ')}`,
        )
      }
    }
  }
}

interface Picked {
  readonly root: Record<string, unknown>
  readonly file: string
  readonly text: string
  readonly variant: string
}

function pickVariant({ root, file, text, variant }: Picked): Adapter {
  const { variants = { default: {} }, ...base } = root
  const chosen = isRecord(variants) ? variants[variant] : undefined
  if (!isRecord(chosen)) {
    const names = isRecord(variants) ? Object.keys(variants).join(', ') : ''
    throw new AdapterError(`${file} has no variant ${variant}. These are: ${names}`)
  }
  const adapter = {
    ...DEFAULTS,
    ...base,
    ...chosen,
    lacks: { ...record(base['lacks']), ...record(chosen['lacks']) },
    file,
    text,
  } as unknown as Adapter
  if (REFUSED[adapter.gateway]?.includes(adapter.version))
    throw new AdapterError(
      `${file} ${adapter.gateway} ${adapter.version} is a release that is not to be run`,
    )
  return adapter
}

const DEFAULTS = {
  install: [],
  needs: [],
  formats: ['chat'],
  docs: '',
  files: {},
  provider_port: 0,
  unpriced_model: 'books-unpriced',
  setup: [],
  logs: [],
  headers: {},
  after_restart: [],
  in_flight: 8,
  fee_factor: 1,
  policy: {},
  untried: {},
  footnotes: {},
  set: {},
}

const TEMPLATE = /\{([a-z_]+)\}/g

/** Values by name, for templates. */
export type Values = Readonly<Record<string, string>>

/** A text with its templates replaced; those without a value stay. */
export function fill(text: string, values: Values): string {
  return text.replace(TEMPLATE, (whole, name: string) => values[name] ?? whole)
}

/** The same in every text of a value; a text that is one template of a number becomes that number. */
export function fillAll(value: unknown, values: Values): unknown {
  if (typeof value === 'string') {
    const filled = fill(value, values)
    const isNumber = /^\{(?:micros|dollars|factor|hours)\}$/.test(value)
    return isNumber ? Number(filled) : filled
  }
  if (Array.isArray(value)) return value.map((item) => fillAll(item, values))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [fill(key, values), fillAll(item, values)]),
  )
}

function record(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}
