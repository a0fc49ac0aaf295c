import { flagOf, setFields, textOf, textsOf } from '../../format/address.ts'

/** The orders of models, with their names in the menu. */
export const MODEL_SORTS = {
  used: 'Most used',
  name: 'Name',
  price: 'Lowest price',
  context: 'Longest context',
  newest: 'Newest',
} as const

/** An order of models. */
export type ModelSort = keyof typeof MODEL_SORTS

/** The kinds of output of models, and their names on chips. */
export const WRITES = { text: 'Text', image: 'Images', embeddings: 'Embeddings' } as const

/** A kind of output of models. */
export type Writes = keyof typeof WRITES

/** The query parameters of Models. */
export interface ModelsSearch {
  /** A part of an ID, a name or a description. */
  readonly find?: string
  /** Only models that free credit pays for. */
  readonly open?: true
  readonly sort?: ModelSort
  /** The first part of the IDs. */
  readonly vendor?: string
  readonly writes?: Writes
  /** The smallest context window in tokens. */
  readonly context?: number
  readonly supports?: readonly string[]
  /** The model whose details are open. */
  readonly model?: string
}

/** Reads the query parameters of Models; invalid values are left out. */
export function readModelsSearch(search: Record<string, unknown>): ModelsSearch {
  const { find, open, sort, vendor, writes, context, supports, model } = search
  const tokens = Number(context)
  return setFields({
    find: textOf(find),
    open: flagOf(open),
    sort: nameIn(MODEL_SORTS, sort),
    vendor: textOf(vendor),
    writes: nameIn(WRITES, writes),
    context: Number.isSafeInteger(tokens) && tokens > 0 ? tokens : undefined,
    supports: textsOf(supports),
    model: textOf(model),
  })
}

/** The name if the table has it; otherwise undefined. */
function nameIn<Name extends string>(table: Readonly<Record<Name, string>>, value: unknown) {
  return typeof value === 'string' && Object.hasOwn(table, value) ? (value as Name) : undefined
}

/** The query parameters of the operator's list of models. */
export interface OfferedSearch extends ModelsSearch {
  /** The upstream of the model whose details are open. */
  readonly upstream?: string
  /** Left out: the models on offer. */
  readonly list?: 'not_offered'
}

/** Reads the query parameters of the operator's list of models; invalid values are left out. */
export function readOfferedSearch(search: Record<string, unknown>): OfferedSearch {
  return setFields({
    ...readModelsSearch(search),
    upstream: textOf(search['upstream']),
    list: search['list'] === 'not_offered' ? ('not_offered' as const) : undefined,
  })
}
