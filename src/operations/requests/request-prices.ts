import { z } from 'zod'
import { readPrices } from '../../catalog/catalog-store.ts'
import { BILLED_KINDS, billedParts, costOfUsage } from '../../journey/settle/usage-charge.ts'
import { getRequest } from '../../ledger/activity/activity.ts'
import { isSettledByOperator } from '../../ledger/operator-actions.ts'
import { chargedMicros } from '../../ledger/rules/charge.ts'
import type { RequestRow } from '../../store/schema.ts'
import {
  chargeForCost,
  type Decimal,
  decimalOfPicos,
  formatDecimal,
  microsOfDecimal,
  parseDecimal,
  priceWithFee,
} from '../../vocabulary/money.ts'
import type { PriceTable } from '../../vocabulary/offer.ts'
import { mayOpen } from '../caller.ts'
import { feeShape, idField, moneyField } from '../fields.ts'
import { noRequest } from '../not-found.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { sharedPaths } from '../paths.ts'

/** How the charge of a request follows from its usage and prices. */
export function requestPriceOperations({ store }: OperationParts) {
  return [
    operation({
      name: 'getRequestPrices',
      method: 'GET',
      scope: 'read',
      paths: sharedPaths('requests/{request_id}/prices'),
      summary:
        'How the charge of a request follows from its tokens: each kind with its number and its price when the request ran.',
      answers: { 200: requestPricesShape },
      problems: ['not_found'],
      async run({ reader, caller, param }) {
        const requestId = param('request_id')
        const db = readsFor({ caller, reader }, store)
        const row = await getRequest(db, requestId)
        if (row === null || !mayOpen(caller, row.accountId)) throw await noRequest(store, requestId)
        const prices = chargedMicros(row) === 0 ? null : await readPrices(db, row.priceSnapshotId)
        const isSettled = await isSettledByOperator(db, row)
        return pricesAnswer(row, { prices, isSettled })
      },
    }),
  ]
}

const BASES = ['prices', 'reported', 'settled', 'estimate', 'none'] as const

const lineShape = z.object({
  kind: z
    .enum(BILLED_KINDS)
    .describe('Tokens of a kind, `search` for web searches, or `request` for the request itself.'),
  quantity: z.int().describe('The number of tokens or searches; 1 for the request itself.'),
  price: z
    .string()
    .describe('The charged price of one, with the platform fee, in dollars: an exact decimal.'),
  charge: z.string().describe('`quantity` times `price`, in dollars: an exact decimal.'),
  provider_price: z.string().describe("The provider's price of one, in dollars: an exact decimal."),
  provider_cost: z
    .string()
    .describe('`quantity` times `provider_price`, in dollars: an exact decimal.'),
})

/** The parts of the charge of a request. */
export const requestPricesShape = z
  .object({
    object: z.literal('request_prices'),
    request_id: idField('req'),
    basis: z
      .enum(BASES)
      .describe(
        '`prices`: the charge is the sum of `lines`, rounded to a micro-dollar. `reported`: the cost behind the charge was reported, and is not tokens times these prices. `settled`: an operator settled the request, and entered the cost behind the charge. `estimate`: the charge is an estimate, because no cost was reported. `none`: nothing is charged.',
      ),
    charge: moneyField.describe('The charge with corrections, in micro-dollars.'),
    fee_basis_points: feeShape.describe(
      "The platform fee in the charge, in hundredths of a percent of the provider's cost.",
    ),
    lines: z.array(lineShape).describe('Empty unless `basis` is `prices`.'),
  })
  .meta({ id: 'RequestPrices' })

type RequestPrices = z.infer<typeof requestPricesShape>

interface Charged {
  /** The prices at which the request ran; null: they are not known, or nothing is charged. */
  readonly prices: PriceTable | null
  /** Whether an operator settled it. */
  readonly isSettled: boolean
}

function pricesAnswer(row: RequestRow, charged: Charged): RequestPrices {
  const basis = basisOf(row, charged)
  const { prices } = charged
  const { usage, feeBasisPoints } = row
  const isShown = basis === 'prices' && usage !== null && prices !== null
  const parts = isShown ? billedParts({ usage, prices }) : []
  return {
    object: 'request_prices',
    request_id: row.id,
    basis,
    charge: chargedMicros(row),
    fee_basis_points: feeBasisPoints,
    lines: parts.map(({ kind, quantity, price }) => {
      const provider = decimalOfPicos(price)
      const charged = priceWithFee(provider, feeBasisPoints)
      return {
        kind,
        quantity,
        price: formatDecimal(charged),
        charge: formatDecimal(times(charged, quantity)),
        provider_price: formatDecimal(provider),
        provider_cost: formatDecimal(times(provider, quantity)),
      }
    }),
  }
}

function basisOf(row: RequestRow, { prices, isSettled }: Charged): RequestPrices['basis'] {
  const { usage, costUsd, feeBasisPoints } = row
  const chargeMicros = chargedMicros(row)
  if (chargeMicros === 0) return 'none'
  if (isSettled) return 'settled'
  if (usage !== null && prices !== null) {
    const cost = costOfUsage({ usage, prices })
    const isCharged = chargeForCost(cost, feeBasisPoints) === chargeMicros
    if (isCharged && (costUsd === null || isSameCost(costUsd, cost))) return 'prices'
  }
  return costUsd === null ? 'estimate' : 'reported'
}

/** Whether a stored cost is this one, but for parts of a micro-dollar. */
function isSameCost(costUsd: string, cost: Decimal): boolean {
  const stored = parseDecimal(costUsd)
  return stored !== null && microsOfDecimal(stored) === microsOfDecimal(cost)
}

function times({ digits, exponent }: Decimal, quantity: number): Decimal {
  return { digits: digits * BigInt(quantity), exponent }
}
