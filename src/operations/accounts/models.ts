import { z } from 'zod'
import { readSnapshotTimes } from '../../catalog/catalog-store.ts'
import type { CatalogRow } from '../../catalog/claims.ts'
import { type ChargedModel, chargedModel, withImageFlat } from '../../catalog/served-models.ts'
import { ModelAccess } from '../../journey/gate/caller.ts'
import { feeShape, listAnswer, listShape, timeAnswer, timeField, timeOrNull } from '../fields.ts'
import { notFound } from '../not-found.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'

/** The models of an account at its prices, and those of every upstream with the provider's. */
export function modelOperations(parts: OperationParts) {
  return [ofAccount(parts), ofUpstreams(parts)]
}

function ofAccount({ store, server }: OperationParts) {
  return operation({
    name: 'listAccountModels',
    method: 'GET',
    paths: { member: '/app/api/accounts/{account_id}/models' },
    summary: 'The models that the account can use, at the prices that it is charged.',
    answers: { 200: listShape(modelShape) },
    async run({ reader, caller, accountId }) {
      const row = await readsFor({ caller, reader }, store)
        .selectFrom('accounts')
        .select(['models_allow as allow', 'models_deny as deny'])
        .select('fee_basis_points as feeBasisPoints')
        .where('id', '=', accountId)
        .executeTakeFirst()
      if (row === undefined) throw notFound('account', accountId)
      const { feeBasisPoints, ...account } = row
      const access = ModelAccess.of({ account, apiKey: null })
      const models = server?.modelsAt(feeBasisPoints) ?? []
      const shown = access === null ? models : models.filter(({ id }) => access.mayUse(id))
      return listAnswer(shown.map(modelAnswer), null)
    },
  })
}

function ofUpstreams({ store, server }: OperationParts) {
  return operation({
    name: 'listOfferedModels',
    method: 'GET',
    paths: { operator: '/app/api/operator/models' },
    summary:
      "Every model at each of its upstreams: the provider's prices, the platform fee, and the prices that accounts without a fee of their own are charged; and the models that upstreams list but the gateway does not offer.",
    answers: { 200: listShape(offeredModelShape).extend({ not_offered: notOfferedShape }) },
    async run({ reader }) {
      const doubted = new Set(server?.catalog().doubtedIds)
      const rows = server?.catalogRows() ?? []
      const snapshotIds = rows.map(({ offer }) => offer.priceSnapshotId)
      const seenMs = await readSnapshotTimes(store.pages(reader), snapshotIds)
      const body = rows.map((row) =>
        offeredAnswer(row, {
          doubted: doubted.has(row.offer.modelId),
          pricesSeenMs: seenMs.get(row.offer.priceSnapshotId) ?? null,
        }),
      )
      const notOffered = server?.notOffered() ?? []
      return {
        ...listAnswer(body, null),
        not_offered: notOffered.map(({ upstream, modelId, why }) => ({
          upstream,
          model: modelId,
          why,
        })),
      }
    },
  })
}

const overrideShape = z.record(z.string(), z.union([z.string(), z.number(), z.array(z.string())]))

const pricingShape = z
  .record(z.string(), z.union([z.string(), z.array(overrideShape)]))
  .describe(
    'Dollars for one token, image or request, as exact decimals; `overrides` are prices under a condition, such as for long prompts; `image_flat` is the highest price of a generated image at a flat price, in place of `image_output`.',
  )

const tokensOrNull = z.int().nullable()

/** A model as an account gets it: its prices include the platform fee. */
const modelShape = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    name: z.string(),
    description: z.string().describe("The provider's description of the model, as Markdown."),
    created: z
      .int()
      .describe('When the model was created, in seconds since the Unix epoch; 0: not known.'),
    hugging_face_id: z.string().nullable().describe('The ID of the model at Hugging Face.'),
    open_weights: z
      .boolean()
      .describe('Whether the weights of the model are open: free credit can pay for its text.'),
    context_length: tokensOrNull.describe('The context window, in tokens; null: not known.'),
    endpoints: z.array(z.string()).describe('The wire formats in which the model can be called.'),
    architecture: z.object({
      input_modalities: z
        .array(z.string())
        .describe('The kinds of input, such as `text` and `image`.'),
      output_modalities: z
        .array(z.string())
        .describe('The kinds of output, such as `text` and `image`.'),
    }),
    supported_parameters: z.array(z.string()),
    top_provider: z.object({
      max_completion_tokens: tokensOrNull.describe(
        'The maximum output, in tokens; null: not known.',
      ),
    }),
    pricing: pricingShape,
  })
  .meta({ id: 'ChargedModel' })

function modelAnswer(model: ChargedModel): z.input<typeof modelShape> {
  const { architecture, top_provider: top } = model
  return {
    id: model.id,
    object: 'model',
    name: model.name,
    description: model.description,
    created: model.created,
    hugging_face_id: model.hugging_face_id,
    open_weights: model.open_weights,
    context_length: model.context_length,
    endpoints: [...model.endpoints],
    architecture: {
      input_modalities: [...architecture.input_modalities],
      output_modalities: [...architecture.output_modalities],
    },
    supported_parameters: [...model.supported_parameters],
    top_provider: { max_completion_tokens: top.max_completion_tokens },
    pricing: pricingAnswer(model),
  }
}

function pricingAnswer({ pricing }: Pick<ChargedModel, 'pricing'>): z.input<typeof pricingShape> {
  const copied = Object.entries(pricing).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : value.map((override) => ({ ...override })),
  ])
  return Object.fromEntries(copied)
}

/** A model at one of its upstreams, with the fields that only operators read. */
const offeredModelShape = modelShape
  .extend({
    upstream: z.string(),
    provider_pricing: pricingShape.describe("The provider's prices, without the platform fee."),
    fee_basis_points: feeShape.describe('The platform fee of the model.'),
    doubted: z
      .boolean()
      .describe(
        'Whether a price, the context window or the maximum output fell so far that the earlier figure still applies.',
      ),
    listed_at: timeField.describe('When the upstream last listed its prices.'),
    prices_first_seen_at: timeField
      .nullable()
      .describe(
        'When the gateway first saw the model at these prices, here or at another upstream. They can have changed and come back since. Null: not stored yet.',
      ),
    stale: z
      .boolean()
      .describe(
        'Whether requests are refused because the prices are too old: `model_prices_stale`.',
      ),
  })
  .meta({ id: 'OfferedModel' })

const notOfferedShape = z
  .array(
    z.object({
      upstream: z.string(),
      model: z.string().nullable().describe('The ID of the model; null: its row has none.'),
      why: z.string(),
    }),
  )
  .describe(
    'The models of the last list of each upstream that are not offered, and why. Models that the settings of an upstream leave out are not among them.',
  )

interface OfferedState {
  /** Whether one of its figures is doubted. */
  readonly doubted: boolean
  /** When its prices were first seen; null: they are not stored yet. */
  readonly pricesSeenMs: number | null
}

/** By position: the row, and its state. */
function offeredAnswer(
  { offer, listing, refreshedAtMs, isStale }: CatalogRow & { readonly isStale: boolean },
  { doubted, pricesSeenMs }: OfferedState,
): z.input<typeof offeredModelShape> {
  const { endpoints, feeBasisPoints, openWeights, upstream } = offer
  const { imageFlat } = offer.prices
  const pricing = withImageFlat(listing.pricing, { imageFlat, feeBasisPoints: 0 })
  return {
    ...modelAnswer(chargedModel({ listing, endpoints, feeBasisPoints, openWeights, imageFlat })),
    upstream,
    provider_pricing: pricingAnswer({ pricing }),
    fee_basis_points: feeBasisPoints,
    doubted,
    listed_at: timeAnswer(refreshedAtMs),
    prices_first_seen_at: timeOrNull(pricesSeenMs),
    stale: isStale,
  }
}
