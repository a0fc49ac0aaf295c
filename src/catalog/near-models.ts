import { MODEL_NAME_CHARS_MAX } from '../upstreams/listing/listing.ts'
import { areNear, editsBetween } from '../vocabulary/edits.ts'
import type { ModelChoice } from '../vocabulary/model-lists.ts'

/** Shorter names are near to many others. */
const CHARS_MIN = 6
/** The most work for one name in a catalog of many similar IDs: some hundred comparisons of usual IDs, 5 ms. */
const COMPARED_LETTERS_MAX = 100_000
const SHOWN_MAX = 3
/** One edit adds, takes away or replaces a letter: two change at most four. */
const LETTERS_CHANGED_MAX = 4

interface SpelledModel {
  /** The model's ID, or an alias of it. */
  readonly name: string
  readonly modelId: string
  readonly whole: Spelling
  /** Without the author, whom clients of other gateways may leave out. */
  readonly plain: Spelling
}

/** A name without date and punctuation, with a bit for each letter in it. */
interface Spelling {
  readonly text: string
  readonly letters: number
}

/** The names of a catalog's models by their spelling, to find the ones that an unknown name may mean. */
export class NearModels {
  readonly #models: readonly SpelledModel[]

  /** Names with the ID of their model. */
  constructor(names: Iterable<readonly [name: string, modelId: string]>) {
    this.#models = Array.from(names, ([name, modelId]) => ({ name, modelId, ...spell(name) }))
  }

  /**
   * The name with the same plain name; if there is none, up to three that differ from it in one letter, else in two.
   * By position: the unknown name, and which models its sender may use; null: all.
   */
  find(modelName: string, access: ModelChoice | null): readonly string[] {
    const mayUse = (model: SpelledModel): boolean => access?.mayUse(model.modelId) !== false
    const { whole, plain } = spell(modelName)
    const isSame = (model: SpelledModel) => model.plain.text === plain.text && mayUse(model)
    const same = plain.text === '' ? undefined : this.#models.find(isSame)
    if (same !== undefined) return [same.name]
    let near: SpelledModel[] = []
    let fewest = Number.POSITIVE_INFINITY
    let lettersLeft = COMPARED_LETTERS_MAX
    for (const model of this.#models) {
      const pairs = [
        [whole, model.whole],
        [plain, model.plain],
      ] as const
      for (const pair of pairs.filter(areAlike)) {
        lettersLeft -= pair[0].text.length * pair[1].text.length
        if (lettersLeft < 0) return near.map(({ name }) => name)
        const edits = editsIfNear(pair)
        if (edits === null || edits > fewest || !mayUse(model)) continue
        if (edits < fewest) near = []
        fewest = edits
        const isShown = near.some(({ modelId }) => modelId === model.modelId)
        if (near.length < SHOWN_MAX && !isShown) near.push(model)
      }
    }
    return near.map(({ name }) => name)
  }
}

type Spellings = readonly [Spelling, Spelling]

/** The quick check that most names fail. */
function areAlike([one, other]: Spellings): boolean {
  const chars = Math.min(one.text.length, other.text.length)
  if (chars < CHARS_MIN || Math.abs(one.text.length - other.text.length) > 2) return false
  let changed = one.letters ^ other.letters
  let count = 0
  for (; changed !== 0; changed &= changed - 1) count++
  return count <= LETTERS_CHANGED_MAX
}

/** Null: they are not near. */
function editsIfNear([{ text }, other]: Spellings): number | null {
  const names = [text, other.text] as const
  return areNear(names, CHARS_MIN) ? editsBetween(names) : null
}

function spell(modelName: string): Pick<SpelledModel, 'whole' | 'plain'> {
  const name = modelName
    .slice(0, MODEL_NAME_CHARS_MAX)
    .toLowerCase()
    .replace(/\[1m\]$/, '')
    .replace(/\/+$/, '')
    .replace(/-(?:20\d{6}|latest)$/, '')
  return { whole: spellingOf(name), plain: spellingOf(name.slice(name.lastIndexOf('/') + 1)) }
}

function spellingOf(name: string): Spelling {
  const text = name.replace(/[^a-z\d:]/g, '')
  let letters = 0
  for (let at = 0; at < text.length; at++) letters |= 1 << (text.charCodeAt(at) % 32)
  return { text, letters }
}
