import { z } from 'zod'
import type { RefreshOutcome } from '../../catalog/catalog-refresher.ts'

/** What a refresh of the catalog found. */
export const catalogRefreshShape = z
  .object({
    object: z.literal('catalog_refresh'),
    models: z.int(),
    stored: z.boolean().describe('Whether a restart would have it too.'),
    doubted: z
      .array(z.string())
      .describe(
        'Models with a price, a window or a longest answer whose fall to a tenth or less is not believed yet.',
      ),
    skipped: z
      .array(z.object({ model: z.string().nullable(), why: z.string() }))
      .describe("Rows of the provider's list that offer nothing, and why."),
  })
  .meta({ id: 'CatalogRefresh' })

/** A refresh as it is answered. */
export function catalogRefreshAnswer(
  outcome: Extract<RefreshOutcome, { kind: 'refreshed' }>,
): z.infer<typeof catalogRefreshShape> {
  return {
    object: 'catalog_refresh',
    models: outcome.models,
    stored: outcome.storeFailure === null,
    doubted: [...outcome.doubtedIds],
    skipped: outcome.skipped.map(({ modelId, why }) => ({ model: modelId, why })),
  }
}
