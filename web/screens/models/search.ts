/** How models are sorted. */
export const MODEL_SORTS = {
  used: 'Most used',
  name: 'Name',
  price: 'Lowest price',
  context: 'Longest context',
  newest: 'Newest',
} as const

/** One of them. */
export type ModelSort = keyof typeof MODEL_SORTS

/** The kinds of output of models, and their names on chips. */
export const WRITES = { text: 'Text', image: 'Images', embeddings: 'Embeddings' } as const

/** One of them. */
export type Writes = keyof typeof WRITES

/** The search of the models' address. */
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

/** Reads it; what it can't mean is left out. */
export function readModelsSearch(search: Record<string, unknown>): ModelsSearch {
  const { find, open, sort, vendor, writes, context, supports, model } = search
  const isOf = (list: object, value: unknown) =>
    typeof value === 'string' && Object.hasOwn(list, value)
  const tokens = Number(context)
  const wanted = (Array.isArray(supports) ? supports : [supports]).filter(isText)
  return {
    ...(isText(find) ? { find } : {}),
    ...(open === 'true' || open === true ? { open: true as const } : {}),
    ...(isOf(MODEL_SORTS, sort) ? { sort: sort as ModelSort } : {}),
    ...(isText(vendor) ? { vendor } : {}),
    ...(isOf(WRITES, writes) ? { writes: writes as Writes } : {}),
    ...(Number.isSafeInteger(tokens) && tokens > 0 ? { context: tokens } : {}),
    ...(wanted.length > 0 ? { supports: wanted } : {}),
    ...(isText(model) ? { model } : {}),
  }
}

/** Reads what the operator's list of models is searched for: a part of an ID, a name or an upstream. */
export function readFindSearch({ find }: Record<string, unknown>): Pick<ModelsSearch, 'find'> {
  return isText(find) ? { find } : {}
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
