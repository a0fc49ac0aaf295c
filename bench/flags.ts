import { join } from 'node:path'
import { parseArgs } from 'node:util'

/** The arguments of a run. */
export interface Flags {
  readonly help: boolean
  /** One round of few requests: for errors, not for speed. */
  readonly quick: boolean
  /** Stores of the largest intended size. */
  readonly full: boolean
  /** Names of scenarios; empty: the canonical ones. */
  readonly scenarios: readonly string[]
  readonly rounds: number
  /** How many cores the gateway has; null: one, where the machine can pin, and all in a quick run. */
  readonly cores: number | null
  /** The folder of the stores, on the disk to measure. */
  readonly storeFolder: string
  /** The file for the JSON; null: one in `bench/results/`, named by the time. */
  readonly resultFile: string | null
  /** The folder for the gateway's profiles; null: none are taken. */
  readonly profileFolder: string | null
  /** Another checkout of tollgate to measure; undefined: this one. */
  readonly checkout: string | undefined
  /** Settings of the gateway, by name. */
  readonly settings: Readonly<Record<string, string>>
  /** Gateways that run already. */
  readonly peers: readonly PeerFlag[]
}

/** A gateway that is already running. */
export interface PeerFlag {
  readonly name: string
  /** Without a path. */
  readonly address: string
  /** The process whose processor time is read, with all that it started. */
  readonly pid: number
  /** The header of requests; null: none. */
  readonly authorization: string | null
}

const ROOT = join(import.meta.dirname, '..')
const PROFILES = join(ROOT, 'bench', 'results', 'profiles')
const ROUNDS = { full: 7, quick: 1 }

/** Reads the arguments. Throws TypeError for one that it does not know or can't use. */
export function readFlags(args: readonly string[]): Flags {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      cores: { type: 'string' },
      'store-folder': { type: 'string', default: join(ROOT, 'data') },
      result: { type: 'string' },
      profile: { type: 'boolean', default: false },
      checkout: { type: 'string' },
      setting: { type: 'string', multiple: true, default: [] },
      peer: { type: 'string', multiple: true, default: [] },
    },
  })
  return {
    help: values.help,
    quick: values.quick,
    full: values.full,
    scenarios: positionals,
    rounds: wholeNumber('rounds', values.rounds) ?? (values.quick ? ROUNDS.quick : ROUNDS.full),
    cores: wholeNumber('cores', values.cores),
    storeFolder: values['store-folder'],
    resultFile: values.result ?? null,
    profileFolder: values.profile ? PROFILES : null,
    checkout: values.checkout,
    settings: Object.fromEntries(values.setting.map(settingOf)),
    peers: values.peer.map(peerOf),
  }
}

/** By position: the flag's name, and its value. */
function wholeNumber(name: string, text: string | undefined): number | null {
  if (text === undefined) return null
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new TypeError(`--${name} takes a whole number above 0`)
  return Number(text)
}

function settingOf(text: string): [string, string] {
  const equals = text.indexOf('=')
  if (equals < 1) throw new TypeError('--setting takes NAME=value')
  return [text.slice(0, equals), text.slice(equals + 1)]
}

function peerOf(text: string): PeerFlag {
  const [name = '', address = '', pidText = '', authorization = null] = text.split(',')
  const isUsable = name !== '' && URL.canParse(address) && /^[1-9]\d*$/.test(pidText)
  if (!isUsable) throw new TypeError('--peer takes name,http://address,pid[,authorization]')
  return { name, address, pid: Number(pidText), authorization }
}
