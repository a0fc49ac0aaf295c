import type { JsonObject } from '../json/walk.ts'
import { SEARCH_RESULT_TOKENS_DEFAULT } from '../vocabulary/call.ts'
import type { ClientName } from './client-names.ts'
import { field, isObject } from './fields.ts'

// The upstream's own bounds of these settings, and what it takes where they are left out.
const RESULTS_DEFAULT = 5
const RESULTS_MAX = 25
const CHARACTERS_DEFAULT = 4_000
const CHARACTERS_MAX = 100_000
const CHARACTERS_BY_SIZE = new Map([
  ['low', 5_000],
  ['medium', 15_000],
  ['high', 30_000],
])

/** What pages come to: English has about four to a token. */
const CHARACTERS_PER_TOKEN = 3

/**
 * The most tokens that one search puts into the prompt, by the settings of the tools and options given,
 * which may stand in `parameters` too. A setting of a form that is not known counts as the largest.
 */
export function searchResultTokens(searches: readonly JsonObject[]): number {
  let most = SEARCH_RESULT_TOKENS_DEFAULT
  for (const search of searches) {
    const parameters = field(search, 'parameters')
    most = Math.max(most, tokensOf(search), isObject(parameters) ? tokensOf(parameters) : 0)
  }
  return most
}

function tokensOf(settings: JsonObject): number {
  const results = settingOf(settings, {
    name: 'max_results',
    absent: RESULTS_DEFAULT,
    most: RESULTS_MAX,
  })
  const characters = settingOf(settings, {
    name: 'max_characters',
    absent: charactersBySize(field(settings, 'search_context_size')),
    most: CHARACTERS_MAX,
  })
  return Math.ceil((results * characters) / CHARACTERS_PER_TOKEN)
}

function settingOf(
  settings: JsonObject,
  {
    name,
    absent,
    most,
  }: { readonly name: ClientName; readonly absent: number; readonly most: number },
): number {
  const value = field(settings, name)
  if (value === undefined) return absent
  return typeof value === 'number' && value >= 0 ? Math.min(value, most) : most
}

function charactersBySize(size: unknown): number {
  if (size === undefined) return CHARACTERS_DEFAULT
  return (typeof size === 'string' ? CHARACTERS_BY_SIZE.get(size) : undefined) ?? CHARACTERS_MAX
}
