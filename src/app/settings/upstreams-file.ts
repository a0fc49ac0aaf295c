import { readFile } from 'node:fs/promises'
import { loadDialect } from '../../upstreams/dialects.ts'
import { vouchFault } from '../../upstreams/fields.ts'
import { isModelId, MODEL_NAME_CHARS_MAX } from '../../upstreams/listing/listing.ts'
import { answeredFormats, type Dialect } from '../../upstreams/upstream.ts'
import {
  type ConfiguredUpstreams,
  OWN_FIELDS,
  type OwnField,
  type UpstreamSettings,
  type UpstreamTimeouts,
} from '../../upstreams/upstream-settings.ts'
import { TIMER_MS_MAX } from '../../vocabulary/clock.ts'
import { ConfigError, HEADER_NAME, HEADER_TEXT, KEY_TEXT } from './setting.ts'
import { isBaseUrl } from './upstream-variables.ts'
import { readWrittenModels } from './written-models.ts'
import { YamlFile, type YamlValue } from './yaml-value.ts'

/** The inputs in addition to the file. */
interface UpstreamsFileInput {
  /** The environment, which has the values of its `"${NAME}"`. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The time limits of an upstream that sets none. */
  readonly timeouts: UpstreamTimeouts
  readonly dialects: ReadonlyMap<string, () => Promise<Dialect>>
}

/** Reads the file of `TOLLGATE_UPSTREAMS`. Rejects with `ConfigError` that names every fault with its line. */
export async function readUpstreamsFile(
  path: string,
  input: UpstreamsFileInput,
): Promise<ConfiguredUpstreams> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new ConfigError(
      `TOLLGATE_UPSTREAMS is ${path}, which cannot be read: check that the file exists and that this user can read it`,
      { cause: error },
    )
  }
  if (/^model_list:/m.test(text)) {
    throw new ConfigError(
      `TOLLGATE_UPSTREAMS is ${path}, which is a configuration of LiteLLM: docs/moving.md has the same models in both forms`,
    )
  }
  const file = new YamlFile(text)
  const read = file.faults.length > 0 ? null : await readRoot(file.root, input)
  const { faults } = file
  if (read !== null && faults.length === 0) return read
  throw new ConfigError(
    `${path} cannot be used (docs/upstreams.md describes each line):\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
  )
}

async function readRoot(
  root: YamlValue,
  input: UpstreamsFileInput,
): Promise<ConfiguredUpstreams | null> {
  const members = root.members(['upstreams', 'aliases'])
  const list = members?.get('upstreams')
  if (members === null) return null
  if (list === undefined) return root.fault('has no `upstreams`')
  const upstreams: UpstreamSettings[] = []
  const claims = new Claims()
  for (const [name, value] of list.members() ?? []) {
    if (!NAME.test(name))
      value.fault(
        'has a name that cannot be used: it must be 1 to 32 of the characters a-z, 0-9, . _ -',
      )
    const upstream = await readUpstream(name, { value, claims, input })
    if (upstream !== null) upstreams.push(upstream)
  }
  const aliases = readAliases(members.get('aliases'), claims)
  const [first, ...others] = upstreams
  if (first === undefined) return list.fault('has no upstream')
  return { mode: 'live', upstreams: [first, ...others], aliases }
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,31}$/
const KNOWN = [
  'dialect',
  'base_url',
  'api_key',
  'headers',
  'formats',
  'only',
  'except',
  'models',
  'max_in_flight',
  'read_on',
  'allow_fields',
  'cache_salt',
  'leave_out',
  'timeouts',
]

/** By position: its name, and its place in the file. */
async function readUpstream(
  name: string,
  {
    value,
    claims,
    input,
  }: { readonly value: YamlValue; readonly claims: Claims; readonly input: UpstreamsFileInput },
): Promise<UpstreamSettings | null> {
  const members = value.members(KNOWN)
  if (members === null) return null
  const dialectName = members.get('dialect')?.oneOf([...input.dialects.keys()])
  if (members.get('dialect') === undefined) {
    value.fault(`has no dialect: it must be one of ${[...input.dialects.keys()].join(', ')}`)
  }
  if (dialectName === undefined || dialectName === null) return null
  const dialect = await loadDialect(dialectName, input.dialects)
  const models = readWrittenModels(members.get('models'), { upstream: name, dialect })
  if (dialect.hasCatalogIds) {
    members
      .get('models')
      ?.fault(`does not apply to ${dialectName}, whose list has all figures: leave it out`)
  }
  const formats = members.has('formats') ? readFormats(members.get('formats'), dialect) : null
  for (const { model, value: at } of models) {
    claims.claim(model.id, at, { upstream: name, formats: answeredFormats(formats, dialect) })
  }
  return {
    name,
    dialect: dialectName,
    baseUrl: readBaseUrl(members.get('base_url'), { value, dialect }),
    ...readApiKey(members.get('api_key'), { value, dialect, env: input.env, name }),
    headers: readHeaders(members.get('headers'), input.env),
    formats,
    only: members.has('only') ? readPatterns(members.get('only')) : null,
    except: readPatterns(members.get('except')),
    models: models.map(({ model }) => model),
    inFlightMax: members.get('max_in_flight')?.wholeNumber({ min: 1, max: 100_000 }) ?? null,
    readOn: readReadOn(members.get('read_on'), dialect),
    allowFields: readAllowedFields(members.get('allow_fields'), dialect),
    saltsCache: readCacheSalt(members.get('cache_salt'), dialectName),
    leavesOut: readLeftOut(members.get('leave_out'), dialectName),
    timeouts: readTimeouts(members.get('timeouts'), input.timeouts),
  }
}

const FIELD_NAME = /^(?:messages\.)?[A-Za-z_]\w{0,63}$/

/** Fields that the operator vouches for: none that the dialect reads, or refuses for what it does to the bill. */
function readAllowedFields(value: YamlValue | undefined, { wires }: Dialect): string[] {
  if (value === undefined) return []
  const tables = [...wires.values()]
    .map(({ fields }) => fields)
    .filter((table) => table !== undefined)
  if (tables.length === 0) {
    value.fault('does not apply to this dialect, which passes on every field: leave it out')
    return []
  }
  return (value.items() ?? []).flatMap((item) => {
    const name = item.text()
    if (name === null) return []
    if (!FIELD_NAME.test(name)) {
      return (
        item.fault('must be a field like priority, or a field of messages like messages.name') ?? []
      )
    }
    const why = tables.map((table) => vouchFault(table, name)).find((each) => each !== null)
    if (why === undefined) return [name]
    return item.fault(`can't be vouched for: \`${name}\` ${why}`) ?? []
  })
}

function readCacheSalt(value: YamlValue | undefined, dialect: string): boolean {
  if (value === undefined) return false
  if (dialect === 'openai-compatible') return value.oneOf(['true', 'false']) === 'true'
  value.fault('applies only to openai-compatible: other vendors have no such field')
  return false
}

function readLeftOut(value: YamlValue | undefined, dialect: string): OwnField[] {
  if (value === undefined) return []
  if (dialect === 'openai-compatible') {
    return (value.items() ?? []).flatMap((item) => item.oneOf(OWN_FIELDS) ?? [])
  }
  value.fault('applies only to openai-compatible: other vendors accept what the gateway sends')
  return []
}

function readBaseUrl(
  value: YamlValue | undefined,
  { value: upstream, dialect }: { readonly value: YamlValue; readonly dialect: Dialect },
): string {
  if (value === undefined) {
    if (dialect.baseUrl === null) upstream.fault('has no base_url')
    return dialect.baseUrl ?? ''
  }
  const text = value.text() ?? ''
  if (text !== '' && !isBaseUrl(text)) {
    value.fault('must be an http or https address without a query, like https://api.example.com/v1')
  }
  return text.replace(/\/+$/, '')
}

const SECRET = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/

const NO_KEY = { apiKey: null, apiKeyVariable: null }

function readApiKey(
  value: YamlValue | undefined,
  {
    value: upstream,
    dialect,
    env,
    name,
  }: Pick<UpstreamsFileInput, 'env'> & {
    readonly value: YamlValue
    readonly dialect: Dialect
    readonly name: string
  },
): Pick<UpstreamSettings, 'apiKey' | 'apiKeyVariable'> {
  const example = `"\${${name.replaceAll(/[^a-z0-9]/g, '_').toUpperCase()}_API_KEY}"`
  if (value === undefined) {
    // A vendor's own address asks for a key; a server of one's own may not.
    if (dialect.baseUrl !== null) upstream.fault(`has no api_key: write api_key: ${example}`)
    return NO_KEY
  }
  const text = value.text()
  if (text === null) return NO_KEY
  const apiKeyVariable = SECRET.exec(text)?.[1]
  if (apiKeyVariable === undefined) {
    value.fault(
      `must name a variable of the environment, like ${example}: keys belong there, not in the file`,
    )
    return NO_KEY
  }
  const apiKey = fromEnvironment(value, { text, env })
  if (apiKey !== null && !KEY_TEXT.test(apiKey)) {
    value.fault(`names ${text}, which has characters that no key has`)
  }
  return { apiKey, apiKeyVariable }
}

/** The text, or the variable that it names. */
function fromEnvironment(
  value: YamlValue,
  { text, env }: { readonly text: string; readonly env: UpstreamsFileInput['env'] },
): string | null {
  const name = SECRET.exec(text)?.[1]
  if (name === undefined) return text
  const secret = env[name] ?? ''
  return secret === ''
    ? value.fault(`names ${name}, which is set neither in the environment nor in .env`)
    : secret
}

const OWN_HEADERS =
  /^(authorization|x-api-key|content-.*|host|connection|accept-encoding|transfer-encoding|expect|upgrade|keep-alive|te|trailer)$/i

function readHeaders(value: YamlValue | undefined, env: UpstreamsFileInput['env']): string[] {
  const headers: string[] = []
  for (const [name, member] of value?.members() ?? []) {
    const text = member.text()
    const header = text === null ? null : fromEnvironment(member, { text, env })
    if (header === null) continue
    if (!HEADER_NAME.test(name)) member.fault('is not a valid name of a header')
    else if (OWN_HEADERS.test(name)) member.fault('is a header that tollgate sets')
    else if (!HEADER_TEXT.test(header)) member.fault('must be printable ASCII')
    else headers.push(name, header)
  }
  return headers
}

function readFormats(value: YamlValue | undefined, { wires }: Dialect): string[] {
  const formats = (value?.items() ?? []).flatMap((item) => item.oneOf([...wires.keys()]) ?? [])
  if (formats.length === 0) value?.fault('names no format')
  return formats
}

function readReadOn(value: YamlValue | undefined, { billsLeftCalls }: Dialect): boolean {
  if (value === undefined) return false
  if (!billsLeftCalls) return value.oneOf(['true', 'false']) === 'true'
  value.fault(
    'does not apply to this dialect: it bills calls whose clients have left, so they are always read on',
  )
  return false
}

function readPatterns(value: YamlValue | undefined): string[] {
  return (value?.items() ?? []).flatMap((item) => {
    const text = item.text()
    if (text === null) return []
    if (isModelId(text) || /^[^/*\s]+\/\*$/.test(text)) return [text]
    return item.fault('must be the ID of a model, or all models of an author, like acme/*') ?? []
  })
}

const TIMEOUTS = {
  connect_ms: 'connectTimeoutMs',
  headers_ms: 'headersTimeoutMs',
  stall_ms: 'stallTimeoutMs',
  total_ms: 'totalTimeoutMs',
  image_ms: 'imageTimeoutMs',
  read_on_ms: 'readOnTimeoutMs',
  queue_ms: 'queueTimeoutMs',
} as const satisfies Record<string, keyof UpstreamTimeouts>

function readTimeouts(value: YamlValue | undefined, usual: UpstreamTimeouts): UpstreamTimeouts {
  const members = value?.members(Object.keys(TIMEOUTS))
  const read: Partial<Record<keyof UpstreamTimeouts, number>> = {}
  for (const [name, timeout] of Object.entries(TIMEOUTS)) {
    const timeoutMs = members?.get(name)?.wholeNumber({ min: 1, max: TIMER_MS_MAX }) ?? null
    if (timeoutMs !== null) read[timeout] = timeoutMs
  }
  return { ...usual, ...read }
}

function readAliases(value: YamlValue | undefined, claims: Claims): Map<string, string> {
  const aliases = new Map<string, string>()
  for (const [name, member] of value?.members() ?? []) {
    const target = member.text()
    if (target === null) continue
    if (name.length > MODEL_NAME_CHARS_MAX) member.fault('is longer than the name of any model')
    else if (!isModelId(target)) member.fault('must be the ID of a model, like acme/sage-pro')
    else {
      claims.claim(name, member, null)
      aliases.set(name, target)
    }
  }
  return aliases
}

/** An upstream that an id is written for. */
interface WrittenFor {
  readonly upstream: string
  readonly formats: ReadonlySet<string>
}

interface Claim {
  readonly name: string
  readonly value: YamlValue
  /** Null: it is an alias. */
  readonly owner: WrittenFor | null
}

/**
 * The ids and aliases that are written in the file: each may be written once, in any case of its letters, but an id
 * may be written for several upstreams that answer different formats.
 */
class Claims {
  readonly #byName = new Map<string, Claim[]>()

  /** By position: the id or alias, where it is written, and for whom. Null: it is an alias. */
  claim(name: string, value: YamlValue, owner: WrittenFor | null): void {
    const folded = name.toLowerCase()
    const earlier = this.#byName.get(folded) ?? []
    const claim = { name, value, owner }
    for (const other of earlier) {
      const shared = sharedFormats(claim, other)
      if (shared?.length === 0) continue
      const formats = shared === null ? '' : ` for ${shared.join(', ')}`
      const advice =
        shared === null ? '' : ': an ID can be written for two upstreams if their `formats` differ'
      value.fault(`claims ${name}${formats}, as ${placeOf(other)} does${advice}`)
      return
    }
    this.#byName.set(folded, [...earlier, claim])
  }
}

function placeOf({ value }: Claim): string {
  return `${value.path} on line ${value.line}`
}

/** The formats that two claims share; null: the claims conflict in any format. */
function sharedFormats(one: Claim, other: Claim): readonly string[] | null {
  if (one.owner === null || other.owner === null) return null
  if (one.name !== other.name || one.owner.upstream === other.owner.upstream) return null
  return [...one.owner.formats.intersection(other.owner.formats)]
}
