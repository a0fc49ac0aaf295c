import { expect, test } from 'vitest'
import { CatalogRefreshers } from './catalog-refreshers.ts'
import { startCatalogProcess } from './testing/catalog-process.ts'

const EMPTY_STORE = { load: async () => null, save: async () => {} }

const timersRunning = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

test('a first refresh of upstreams that all end at once leaves no timer running', async () => {
  const { catalog, refresher } = startCatalogProcess({ store: EMPTY_STORE })
  const before = timersRunning()
  await new CatalogRefreshers(catalog, [refresher]).refreshFirst(60_000)
  // Promises that follow the end have had their turn.
  await new Promise((resolve) => setImmediate(resolve))
  expect(timersRunning()).toBe(before)
})
