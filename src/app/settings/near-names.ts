import { areNear, editsBetween } from '../../vocabulary/edits.ts'

type Names = readonly [string, string]
type Environment = Readonly<Record<string, string | undefined>>

/** A variable that looks like a setting but is not. */
interface Misnomer {
  readonly name: string
  readonly rightName: string
  /** The right one is set, or a file of upstreams replaces it: this one has no effect. */
  readonly isLeftOver: boolean
}

/** Names of other words that are often set in place of a setting's. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  UPSTREAM_URL: 'UPSTREAM_BASE_URL',
  UPSTREAM_BASE: 'UPSTREAM_BASE_URL',
  UPSTREAM_API_BASE: 'UPSTREAM_BASE_URL',
  UPSTREAM_API_URL: 'UPSTREAM_BASE_URL',
  UPSTREAM_ENDPOINT: 'UPSTREAM_BASE_URL',
  UPSTREAM_HOST: 'UPSTREAM_BASE_URL',
  UPSTREAM_SECRET: 'UPSTREAM_API_KEY',
  OPENAI_KEY: 'UPSTREAM_API_KEY',
  ANTHROPIC_KEY: 'UPSTREAM_API_KEY',
  OPENROUTER_KEY: 'UPSTREAM_API_KEY',
  UPSTREAM_TYPE: 'UPSTREAM_DIALECT',
  UPSTREAM_KIND: 'UPSTREAM_DIALECT',
  UPSTREAM_PROVIDER: 'UPSTREAM_DIALECT',
  UPSTREAM_API: 'UPSTREAM_DIALECT',
}

/** Names near a setting's that other programs read. */
const OF_OTHERS = new Set(['PUBLIC_URL'])

/** The variables of the environment that are near the name of a setting. */
export function misnomersIn(env: Environment, settings: readonly string[]): readonly Misnomer[] {
  const known = new Set(settings)
  return Object.keys(env).flatMap((name) => {
    if (!env[name] || known.has(name) || OF_OTHERS.has(name)) return []
    const rightName = OTHER_WORDS[name] ?? nearestName(name, settings)
    if (rightName === null) return []
    const hasFile = rightName.startsWith('UPSTREAM_') && Boolean(env['TOLLGATE_UPSTREAMS'])
    return [{ name, rightName, isLeftOver: hasFile || Boolean(env[rightName]) }]
  })
}

/** Faults of names that resemble a setting. Unknown names that begin with `TOLLGATE_` are refused elsewhere. */
export function misnomerFaults(env: Environment, settings: readonly string[]): string[] {
  return misnomersIn(env, settings)
    .filter(({ name, isLeftOver }) => !isLeftOver && !name.startsWith('TOLLGATE_'))
    .map(({ name, rightName }) => `${name} is not a setting: did you mean ${rightName}?`)
}

/**
 * The end of a refusal of a name that begins with `TOLLGATE_`: the nearest setting, or that with most words in
 * common.
 */
export function suggestionFor(name: string, settings: readonly string[]): string {
  const bare = name.slice('TOLLGATE_'.length)
  const near = settings.includes(bare) ? bare : nearestName(name, settings)
  if (near !== null) return `: did you mean ${near}?`
  const wordsOfName = new Set(name.split('_').slice(1))
  let closest = { known: '', likeness: 0 }
  for (const known of settings) {
    if (!known.startsWith('TOLLGATE_')) continue
    const words = known.split('_').slice(1)
    const inCommon = words.filter((word) => wordsOfName.has(word)).length
    const likeness = inCommon / (words.length + wordsOfName.size - inCommon)
    if (likeness > closest.likeness) closest = { known, likeness }
  }
  return closest.likeness < 1 / 3 ? '' : `: did you mean ${closest.known}?`
}

/** Names as short as this are near to many a word. */
const CHARS_MIN = 8

/** The setting that a name is nearest to, by its letters or by its words; null: it is near none. */
function nearestName(name: string, settings: readonly string[]): string | null {
  const typed = name.toUpperCase().replaceAll('-', '_')
  const prefixed = `TOLLGATE_${typed}`
  if (typed.length >= CHARS_MIN && settings.includes(prefixed)) return prefixed
  let nearest: string | null = null
  let fewest = Number.POSITIVE_INFINITY
  for (const setting of settings) {
    if (!areNear([typed, setting], CHARS_MIN) && !haveSameWords([typed, setting])) continue
    const letters = editsBetween([typed, setting])
    if (letters < fewest) {
      nearest = setting
      fewest = letters
    }
  }
  return nearest
}

/** Whether two names are near, without words that are often forgotten and with one word for similar ones. */
function haveSameWords([one, other]: Names): boolean {
  const words = wordsOf(one)
  const otherWords = wordsOf(other)
  if (Math.min(words.length, otherWords.length) < 2) return false
  const [a, b] = [words.join('_'), otherWords.join('_')]
  return a === b || areNear([a, b], CHARS_MIN)
}

const LEFT_OUT = new Set(['TOLLGATE', 'API'])
const ALIKE: Readonly<Record<string, string>> = { DB: 'DATABASE', URI: 'URL', KEY: 'TOKEN' }

function wordsOf(name: string): readonly string[] {
  const words = name
    .replace(/^TOLLGATE(?=[A-Z])/, '')
    .split('_')
    .filter((word) => !LEFT_OUT.has(word))
  return words.map((word) => ALIKE[word] ?? word.replace(/IES$/, 'Y').replace(/S$/, ''))
}
