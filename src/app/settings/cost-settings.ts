import { isModelId } from '../../upstreams/listing/listing.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../vocabulary/clock.ts'
import { FEE_BASIS_POINTS_DEFAULT, FEE_BASIS_POINTS_MAX } from '../../vocabulary/money.ts'
import { basisPoints, choice, list, milliseconds, type Setting, wholeNumber } from './setting.ts'

/** The platform fees of models. An account's own fee is set on the account, and outranks them. */
export const FEE_SETTINGS = {
  TOLLGATE_FEE_BPS: basisPoints(
    { fallback: FEE_BASIS_POINTS_DEFAULT, min: 0, max: FEE_BASIS_POINTS_MAX },
    "The platform fee on the provider's cost, in hundredths of a percent: 500 is 5%. The fee of an account (`tollgate account update --fee`) takes precedence over the fee of the model, and that over this setting. A request is charged the fee with which its hold was opened.",
  ),
  TOLLGATE_MODEL_FEES_BPS: modelFees(
    'Platform fees of models, comma-separated, in hundredths of a percent: by ID, or for all models of an author, such as `acme/sage=250, local/*=0`, where 250 is 2.5%. Upper and lower case make no difference. An ID takes precedence over its author.',
  ),
  TOLLGATE_LISTED_PRICES: choice(
    { of: ['provider', 'charged'], fallback: 'provider' },
    "The prices in `pricing` of `GET /v1/models`: `provider`, the provider's prices, or `charged`, with the platform fee. `charged_pricing` always has the charged prices. With a key, the fee is that of the key's account.",
  ),
} as const satisfies Record<string, Setting<unknown>>

function modelFees(description: string): Setting<ReadonlyMap<string, number>> {
  const { schema, ...rest } = list(description)
  const message = `must be model IDs with hundredths of a percent, 0 to ${FEE_BASIS_POINTS_MAX}, each once, like \`acme/sage=250, local/*=0\``
  const fees = schema
    .transform((texts) =>
      texts.map((text) => /^(\S+) *= *(\d{1,5})$/.exec(text.toLowerCase())?.slice(1) ?? []),
    )
    .refine(
      (pairs) => pairs.every(isFee) && new Set(pairs.map(([id]) => id)).size === pairs.length,
      message,
    )
    .transform((pairs) => new Map(pairs.map(([id = '', fee]) => [id, Number(fee)])))
  return { ...rest, schema: fees }
}

function isFee([id = '', fee]: readonly string[]): boolean {
  // The pattern of an author is judged as one model of it.
  const isNamed = isModelId(id.replace(/\/\*$/, '/any'))
  return isNamed && Number(fee) <= FEE_BASIS_POINTS_MAX
}

/** The operator's settings of requests whose cost is not final. */
export const LOOKUP_SETTINGS = {
  TOLLGATE_SETTLE_AFTER_MS: milliseconds(
    { fallback: DAY_MS, max: Number.MAX_SAFE_INTEGER },
    'How long the gateway asks the provider for the cost of a request. After that, a provisional charge becomes final, and an unresolved hold is released.',
  ),
  TOLLGATE_SETTLE_AFTER_NO_LOOKUP_MS: milliseconds(
    { fallback: HOUR_MS, max: Number.MAX_SAFE_INTEGER },
    'At a provider without look-ups: how long until a provisional charge becomes final, and an unresolved hold is released.',
  ),
  TOLLGATE_LOOKUPS: choice(
    { of: ['verify', 'all'], fallback: 'verify' },
    "Which costs are compared with the provider's own record. `verify`: all that are estimated or unknown, all paid by the gateway's own keys at other providers, all charges above `TOLLGATE_LOOKUPS_ABOVE_MICROS`, and one in a hundred of the others; after a difference, all. `all`: all of them, as always with the built-in simulator.",
  ),
  TOLLGATE_LOOKUPS_ABOVE_MICROS: wholeNumber(
    { fallback: 100_000, min: 0, of: ['micro-dollars', '100000 for $0.10'] },
    'The charge in micro-dollars above which each reported cost is looked up.',
  ),
  TOLLGATE_STANDS_AFTER_MS: milliseconds(
    { fallback: 10 * MINUTE_MS, max: Number.MAX_SAFE_INTEGER },
    'How long a reported cost that is not looked up stays provisional. If another cost turns out to be wrong before then, it is looked up after all.',
  ),
  TOLLGATE_LOOKUPS_IN_FLIGHT: wholeNumber(
    { fallback: 8, min: 2, max: 1_000 },
    'How many look-ups of ended requests can run at the same time.',
  ),
} as const satisfies Record<string, Setting<unknown>>
