import type { ListedModel } from '../upstreams/listing/listing.ts'
import type { Claimant } from '../upstreams/upstream-settings.ts'

/** One model as the catalog keeps it. */
export interface CatalogRow extends ListedModel {
  /** When the upstream last listed the prices of this model. */
  readonly refreshedAtMs: number
}

/**
 * Which upstreams have which model id: several, if no format is answered by two of them. An id that is written in
 * the settings belongs to the upstreams that it is written for; any other to the first upstream, in the order of the
 * settings, that lists it, and to later ones that answer other formats. Once an upstream has
 * shown a list, what it lists for the first time at a later refresh takes no id from another one: requests of a
 * running gateway do not move to another vendor because a vendor adds models to its list.
 */
export class Claims {
  readonly #order: readonly string[]
  readonly #formats: ReadonlyMap<string, ReadonlySet<string>>
  readonly #written: ReadonlyMap<string, readonly string[]>
  readonly #lists = new Map<
    string,
    { readonly rows: readonly CatalogRow[]; readonly modelIds: ReadonlySet<string> }
  >()
  /** The upstreams that have shown a list in this process. */
  readonly #seen = new Set<string>()
  #owners: ReadonlyMap<string, readonly string[]> = new Map()

  /** In the order in which they take ids. */
  constructor(upstreams: readonly Claimant[]) {
    this.#order = upstreams.map(({ name }) => name)
    this.#formats = new Map(upstreams.map(({ name, formats }) => [name, formats]))
    const written = new Map<string, string[]>()
    for (const { name, models } of upstreams) {
      for (const { id } of models) written.set(id, [...(written.get(id) ?? []), name])
    }
    this.#written = written
  }

  /** Takes the rows that an earlier process stored of an upstream, and returns all rows on offer, in order. */
  restore(upstream: string, rows: readonly CatalogRow[]): readonly CatalogRow[] {
    return this.#place({ upstream, rows, isFirst: true })
  }

  /** Puts these rows in the place of an upstream's earlier ones, and returns all rows on offer, in order. */
  replace(upstream: string, rows: readonly CatalogRow[]): readonly CatalogRow[] {
    const isFirst = !this.#seen.has(upstream)
    this.#seen.add(upstream)
    return this.#place({ upstream, rows, isFirst })
  }

  #place(input: {
    readonly upstream: string
    readonly rows: readonly CatalogRow[]
    readonly isFirst: boolean
  }): readonly CatalogRow[] {
    const { upstream, rows, isFirst } = input
    this.#lists.set(upstream, { rows, modelIds: new Set(rows.map(({ offer }) => offer.modelId)) })
    const before = this.#owners
    const owners = new Map<string, readonly string[]>()
    for (const first of this.#order) {
      for (const modelId of this.#lists.get(first)?.modelIds ?? []) {
        if (owners.has(modelId)) continue
        const isTaken = isFirst && first === upstream
        owners.set(
          modelId,
          this.#apart(modelId, [
            ...(this.#written.get(modelId) ?? []),
            ...(isTaken ? [first] : (before.get(modelId) ?? [])),
            ...this.#order,
          ]),
        )
      }
    }
    this.#owners = owners
    return this.#order.flatMap((name) =>
      this.rowsOf(name).filter(({ offer }) => owners.get(offer.modelId)?.includes(name)),
    )
  }

  /** The rows that an upstream lists. */
  rowsOf(upstream: string): readonly CatalogRow[] {
    return this.#lists.get(upstream)?.rows ?? []
  }

  /** The ids that an upstream lists and another one has. */
  shadowedOf(upstream: string): readonly string[] {
    const ids = [...(this.#lists.get(upstream)?.modelIds ?? [])]
    return ids.filter((modelId) => !this.#owners.get(modelId)?.includes(upstream))
  }

  /** The upstreams among these, in their order, that list the model and answer no format of an earlier one. */
  #apart(modelId: string, upstreams: readonly string[]): readonly string[] {
    const apart: string[] = []
    let answered: ReadonlySet<string> = new Set()
    for (const name of upstreams) {
      const formats = this.#formats.get(name)
      const lists = this.#lists.get(name)?.modelIds.has(modelId) === true
      if (!lists || formats === undefined || apart.includes(name)) continue
      if (!answered.isDisjointFrom(formats)) continue
      apart.push(name)
      answered = answered.union(formats)
    }
    return apart
  }
}
