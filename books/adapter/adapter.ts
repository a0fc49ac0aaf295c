import { readFileSync } from 'node:fs'
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml'
import { isRecord } from '../json.ts'
import { TEMPLATE, type Values } from './template.ts'

/** A file that can't be used: what is wrong, and where. Ends the run with 3 before anything starts. */
export class AdapterError extends Error {}

export const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

/** One HTTP call to the gateway, or one shell command; `keep` gives names to values of its JSON. */
export interface Step extends Partial<Readonly<Record<(typeof METHODS)[number], string>>> {
  readonly run?: string
  /** Writes the files again with the values so far, and starts the gateway again. */
  readonly restart?: true
  readonly bearer?: string
  readonly headers?: Values
  readonly body?: unknown
  readonly keep?: Values
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

// What an adapter says where it says nothing.
const DEFAULTS = {
  docs: '',
  formats: ['chat'] as readonly ('chat' | 'messages')[],
  needs: [] as readonly ('postgres' | 'redis')[],
  install: [] as readonly string[],
  files: {} as Values,
  provider_port: 0,
  // Headers of every request, beside the key.
  headers: {} as Values,
  setup: [] as readonly Step[],
  after_restart: [] as readonly Step[],
  unpriced_model: 'books-unpriced',
  logs: [] as readonly string[],
  in_flight: 8,
  fee_factor: 1,
  policy: {} as Readonly<Record<string, Policy>>,
  lacks: {} as Values,
  // What the gateway has and can't be tried here, with the reason.
  untried: {} as Values,
  footnotes: {} as Values,
  set: {} as Values,
}

const STEPS = ['new_account', 'top_up', 'reprice', 'step_clock'] as const
const READINGS = ['spent', 'left', 'held', 'reported'] as const

type Optional = Partial<
  Record<(typeof STEPS)[number], readonly Step[]> & Record<(typeof READINGS)[number], Reading>
>

/** A gateway, as one YAML file tells it. */
export interface Adapter extends Readonly<Optional & typeof DEFAULTS> {
  readonly file: string
  readonly text: string
  readonly gateway: string
  readonly version: string
  readonly replies?: string
  readonly binary?: string
  readonly build?: string
  readonly url?: string
  readonly start?: { readonly run: string; readonly ready: string; readonly within_s: number }
  readonly instances?: 'shared'
  readonly model: string
  readonly new_key: readonly Step[]
  readonly rows?: Rows
}

const STEP = [...METHODS, 'run', 'restart', 'bearer', 'headers', 'body', 'keep']
const READING = [...STEP, 'value', 'unit', 'settles_within_s', 'flushes_every_s']
const FREE = 'gateway version maker replies build binary url instances model variants'

/** The keys of each section: null for any. A section of steps is checked in each of them. */
const SECTIONS: Readonly<Record<string, readonly string[] | null>> = {
  ...keysOf([...FREE.split(' '), ...Object.keys(DEFAULTS)], null),
  ...keysOf([...STEPS, 'new_key', 'setup', 'after_restart'], STEP),
  ...keysOf(READINGS, READING),
  rows: [...STEP, 'each', 'id', 'cost', 'unit', 'next'],
  start: ['run', 'ready', 'within_s'],
}

function keysOf(sections: readonly string[], keys: readonly string[] | null): typeof SECTIONS {
  return Object.fromEntries(sections.map((section) => [section, keys]))
}

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
  const refuse = (offset: number | undefined, words: string): never => {
    throw new AdapterError(`${file}:${counter.linePos(offset ?? 0).line} ${words}`)
  }
  const [error] = document.errors
  if (error !== undefined) refuse(error.pos[0], error.message)
  const known = new Set(GIVEN.split(' '))
  visit(document, {
    Pair(_, { key, value }) {
      if (!isScalar(key) || !['keep', 'set'].includes(String(key.value)) || !isMap(value)) return
      for (const pair of value.items) known.add(String(pair.key))
    },
  })
  visit(document, {
    Scalar(_, { value, range }) {
      for (const [, name = ''] of String(value).matchAll(TEMPLATE))
        if (!known.has(name))
          refuse(range?.[0], `{${name}} has no value. These have: ${[...known].sort().join(', ')}`)
    },
  })
  const sections = isMap<Node, Node>(document.contents) ? document.contents.items : []
  for (const { key, value } of sections) {
    const name = String(key)
    const keys = SECTIONS[name]
    const all = Object.keys(SECTIONS).sort().join(', ')
    if (keys === undefined)
      refuse(key.range?.[0], `${name} is no key of an adapter. These are: ${all}`)
    for (const step of keys ? (isSeq<Node>(value) ? value.items : [value]) : []) {
      if (!isMap<Node>(step)) return refuse(key.range?.[0], `${name} has a step that is no map`)
      const odd = step.items.find((item) => !keys?.includes(String(item.key)))?.key
      if (odd) refuse(odd.range?.[0], `${odd} is no key of ${name}. These are: ${keys?.join(', ')}`)
    }
  }
  const root: Record<string, unknown> = document.toJS() ?? {}
  for (const name of ['gateway', 'version', 'model', 'new_key'])
    if (root[name] === undefined) refuse(0, `${name} is missing`)
  const { variants = { default: {} }, ...base } = root
  const chosen = isRecord(variants) ? variants[variant] : null
  const names = isRecord(variants) ? Object.keys(variants).join(', ') : ''
  if (!isRecord(chosen)) return refuse(0, `has no variant ${variant}. These are: ${names}`)
  const adapter = { ...DEFAULTS, ...base, ...chosen, file, text } as unknown as Adapter
  if (REFUSED[adapter.gateway]?.includes(adapter.version))
    refuse(0, `${adapter.gateway} ${adapter.version} is a release that is not to be run`)
  return adapter
}
