import { readFileSync } from 'node:fs'
import { isMap, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml'
import { isRecord } from '../json.ts'
import { ACTS, type Step, TEMPLATE, type Values } from './steps.ts'

/** Where a sum is read; `unit` is `dollars`, `micros`, or micro-dollars a unit. */
export interface Reading extends Step {
  readonly value: string
  readonly unit?: string | number
  readonly settles_within_s?: number
  /** How long a sum may stand still before it moves. */
  readonly flushes_every_s?: number
}

/** Where the gateway's own list of requests is read; `next` is where an answer says what its next page is asked with. */
interface Rows extends Step {
  readonly each: string
  readonly id?: string
  readonly cost: string
  readonly unit?: string | number
  readonly next?: { readonly path: string; readonly as: string }
}

/** The charges that the gateway's documentation promises, and the page that says so. */
export interface Policy {
  readonly charge: 'nothing' | 'prompt' | 'billed' | 'whole'
  readonly docs: string
}

// Defaults of an adapter.
const DEFAULTS = {
  docs: '',
  formats: ['chat'] as readonly ('chat' | 'messages')[],
  needs: [] as readonly ('postgres' | 'redis')[],
  install: [] as readonly string[],
  files: {} as Values,
  provider_port: 0,
  // The bearer token of all steps; '': none.
  bearer: '',
  // Headers of every request, beside the key.
  headers: {} as Values,
  after_restart: [] as readonly Step[],
  unpriced_model: 'books-unpriced',
  logs: [] as readonly string[],
  in_flight: 8,
  fee_factor: 1,
  policy: {} as Readonly<Record<string, Policy>>,
  lacks: {} as Values,
  // Features of the gateway that can't be tried here, with the reason.
  untried: {} as Values,
  footnotes: {} as Values,
  set: {} as Values,
}

const TEXTS = ['replies', 'binary', 'build', 'url', 'instances'] as const
const NEEDED = ['gateway', 'version', 'model'] as const
const STEPS = ['new_account', 'top_up', 'reprice', 'step_clock'] as const
const READINGS = ['spent', 'left', 'held', 'reported'] as const

type Of<Names extends readonly string[], Value> = Readonly<Record<Names[number], Value>>
type Optional = Of<typeof TEXTS, string> &
  Of<typeof STEPS, readonly Step[]> &
  Of<typeof READINGS, Reading>
type Whole = Of<typeof NEEDED | readonly ['file', 'text'], string>

/** A gateway, as one YAML file tells it. */
export interface Adapter extends Whole, Partial<Optional>, Readonly<typeof DEFAULTS> {
  readonly start?: { readonly run: string; readonly ready: string; readonly within_s: number }
  readonly new_key: readonly Step[]
  readonly rows?: Rows
}

const DOES = [...ACTS, 'restart'] as const
const STEP = [...DOES, 'headers', 'body', 'keep']
const READING = [...STEP, 'value', 'unit', 'settles_within_s', 'flushes_every_s']

/** The keys of each section: null for any. A section of steps is checked in each of them. */
const SECTIONS: Readonly<Record<string, readonly string[] | null>> = {
  ...keysOf([...NEEDED, ...TEXTS, 'variants', ...Object.keys(DEFAULTS)], null),
  ...keysOf([...STEPS, 'new_key', 'after_restart'], STEP),
  ...keysOf(READINGS, READING),
  rows: [...STEP, 'each', 'id', 'cost', 'unit', 'next'],
  start: ['run', 'ready', 'within_s'],
}
const ALL = Object.keys(SECTIONS).sort().join(', ')

function keysOf(sections: readonly string[], keys: readonly string[] | null): typeof SECTIONS {
  return Object.fromEntries(sections.map((section) => [section, keys]))
}

/** Names that the suite gives a value, beside those that steps keep and variants set. */
const GIVEN =
  'dir home port url provider provider_port provider_key postgres redis binary bearer micros dollars prefix factor hours next model key account'

// Two of these releases contained a thief's code, and one its successor's.
const REFUSED = ['litellm 1.82.7', 'litellm 1.82.8', 'litellm 1.107.0']

/** Reads an adapter and one of its variants. Throws where it can't be used: what is wrong, and in which line. */
export function readAdapter(file: string, variant: string): Adapter {
  const text = readFileSync(file, 'utf8')
  const counter = new LineCounter()
  const document = parseDocument(text, { lineCounter: counter })
  const refuse = (offset: number | undefined, words: string): never => {
    throw new Error(`${file}:${counter.linePos(offset ?? 0).line} ${words}`)
  }
  const [error] = document.errors
  if (error !== undefined) refuse(error.pos[0], error.message)
  const known = new Set(GIVEN.split(' '))
  visit(document, {
    Pair(_, { key, value }) {
      if (!/^(?:keep|set)$/.test(String(key)) || !isMap(value)) return
      for (const pair of value.items) known.add(String(pair.key))
    },
  })
  for (const { 1: name = '', index } of text.matchAll(TEMPLATE))
    if (!known.has(name))
      refuse(index, `{${name}} has no value. These have: ${[...known].sort().join(', ')}`)
  const sections = isMap<Node, Node>(document.contents) ? document.contents.items : []
  for (const { key, value } of sections) {
    const name = String(key)
    const keys = SECTIONS[name]
    const at = key.range?.[0]
    if (keys === undefined) refuse(at, `${name} is no key of an adapter. These are: ${ALL}`)
    for (const step of keys ? (isSeq<Node>(value) ? value.items : [value]) : []) {
      if (!isMap<Node>(step)) return refuse(at, `${name} has a step that is no map`)
      if (!DOES.some((act) => step.has(act))) refuse(at, `${name} has a step that does nothing`)
      const odd = step.items.find((item) => !keys?.includes(String(item.key)))?.key
      if (odd) refuse(odd.range?.[0], `${odd} is no key of ${name}. These are: ${keys?.join(', ')}`)
    }
  }
  const root: Record<string, unknown> = document.toJS() ?? {}
  for (const name of [...NEEDED, 'new_key'])
    if (root[name] === undefined) refuse(0, `${name} is missing`)
  const { variants = { default: {} }, ...base } = root
  const chosen = isRecord(variants) ? variants[variant] : null
  const names = isRecord(variants) ? Object.keys(variants).join(', ') : ''
  if (!isRecord(chosen)) return refuse(0, `has no variant ${variant}. These are: ${names}`)
  const adapter = { ...DEFAULTS, ...base, ...chosen, file, text } as unknown as Adapter
  const release = `${adapter.gateway} ${adapter.version}`
  if (REFUSED.includes(release)) refuse(0, `${release} is a release that is not to be run`)
  return adapter
}
