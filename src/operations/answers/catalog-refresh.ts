import { z } from 'zod'
import type { RefreshOutcome } from '../../catalog/catalog-refresher.ts'

/** What a refresh of the catalog found. */
export const catalogRefreshShape = z
  .object({
    object: z.literal('catalog_refresh'),
    models: z.int(),
    stored: z.boolean().describe('Whether it is stored, so that a restarted server has it.'),
    doubted: z
      .array(z.string())
      .describe(
        'Models with a doubted figure: a price, context window or maximum output that fell to a tenth or less.',
      ),
    skipped: z
      .array(z.object({ model: z.string().nullable(), why: z.string() }))
      .describe("Rows of the provider's list that are not offered, with the reason."),
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
