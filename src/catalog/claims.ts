import type { UpstreamSettings } from '../upstreams/upstream-settings.ts'
import type { CatalogRow } from './catalog.ts'

interface List {
  readonly rows: readonly CatalogRow[]
  readonly modelIds: ReadonlySet<string>
}

/**
 * Which upstream has which model id. An id that is written in the settings belongs to the upstream that it is
 * written for; any other to the first upstream, in the order of the settings, that lists it. Once an upstream has
 * shown a list, what it lists for the first time at a later refresh takes no id from another one: requests of a
 * running gateway do not move to another vendor because of what a vendor adds to its list.
 */
export class Claims {
  readonly #order: readonly string[]
  readonly #written: ReadonlyMap<string, string>
  readonly #lists = new Map<string, List>()
  /** The upstreams that have shown a list in this process. */
  readonly #seen = new Set<string>()
  #owners: ReadonlyMap<string, string> = new Map()

  /** In the order in which they take ids. */
  constructor(upstreams: readonly Pick<UpstreamSettings, 'name' | 'models'>[]) {
    this.#order = upstreams.map(({ name }) => name)
    this.#written = new Map(
      upstreams.flatMap(({ name, models }) => models.map(({ id }) => [id, name] as const)),
    )
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
    const owners = new Map<string, string>()
    for (const name of this.#order) {
      for (const modelId of this.#lists.get(name)?.modelIds ?? []) {
        if (owners.has(modelId)) continue
        const isTaken = isFirst && name === upstream
        const claimants = [this.#written.get(modelId), isTaken ? name : before.get(modelId)]
        owners.set(modelId, this.#listing(modelId, claimants) ?? name)
      }
    }
    this.#owners = owners
    return this.#order.flatMap((name) =>
      this.rowsOf(name).filter(({ offer }) => owners.get(offer.modelId) === name),
    )
  }

  /** The rows that an upstream lists. */
  rowsOf(upstream: string): readonly CatalogRow[] {
    return this.#lists.get(upstream)?.rows ?? []
  }

  /** The ids that an upstream lists and another one has. */
  shadowedOf(upstream: string): readonly string[] {
    const ids = [...(this.#lists.get(upstream)?.modelIds ?? [])]
    return ids.filter((modelId) => this.#owners.get(modelId) !== upstream)
  }

  /** Of these upstreams, the first that lists the model; null: none does. */
  #listing(modelId: string, upstreams: readonly (string | undefined)[]): string | null {
    const lists = (name = ''): boolean => this.#lists.get(name)?.modelIds.has(modelId) === true
    return upstreams.find(lists) ?? null
  }
}
