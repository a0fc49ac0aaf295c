import type { z } from 'zod'
import type { SaleSettings } from '../../sale/open-methods.ts'
import { type ChainConfig, chainSettingsOf } from './chain-settings.ts'
import { basisPoints, dollars, fitting, givenSecret, optional, type Setting } from './setting.ts'
import { namesUpstream } from './upstream-variables.ts'

const STRIPE_KEY = /^[sr]k_(test|live)_\w+$/

/** The settings of the sale of credit. */
export const SALE_SETTINGS = {
  STRIPE_SECRET_KEY: {
    ...givenSecret(
      "The gateway's key at Stripe, preferably a restricted one (`rk_…`); see [selling.md](selling.md). Unset: no credit is sold by card, except play money of the simulator.",
    ),
    schema: fitting(
      (text) => STRIPE_KEY.test(text),
      'must be a secret or restricted key of Stripe, sk_live_… or rk_live_…, or of its test mode',
    ),
  },
  STRIPE_WEBHOOK_SECRET: givenSecret(
    'The signing secret of the webhook at Stripe (`whsec_…`). With it, the gateway learns of payments within a second; without it, within a minute.',
  ),
  STRIPE_BASE_URL: {
    ...optional("The address of Stripe's API, for tests. Unset: `https://api.stripe.com`."),
    schema: fitting(
      (text) => /^https?:\/\/[^/?#]+\/?$/.test(text),
      'must be an http or https address without a path, such as http://127.0.0.1:12111',
    ).transform((text) => text && new URL(text).origin),
  },
  TOLLGATE_SALE_MINIMUM: dollars(
    { fallback: '5' },
    'The least credit that one purchase adds, in dollars.',
  ),
  TOLLGATE_SALE_MAXIMUM: dollars(
    { fallback: '500' },
    'The most credit that one purchase by card adds, in dollars.',
  ),
  TOLLGATE_SALE_HOLD_ABOVE: dollars(
    { fallback: '1000' },
    'A payment for more credit than this, in dollars, is held until an operator decides.',
  ),
  TOLLGATE_SALE_HOLD_ABOVE_DAILY: dollars(
    { fallback: '5000' },
    'A payment is held if purchases of the last 24 hours would exceed this much credit, in dollars.',
  ),
  TOLLGATE_SALE_FEE_BPS: basisPoints(
    { fallback: 0, min: 0, max: 5_000 },
    'The part of a payment that the gateway keeps, in hundredths of a percent: 250 is 2.5%.',
  ),
  TOLLGATE_SELLER_NAME: optional('The name of the seller on receipts.'),
  TOLLGATE_SELLER_TAX_ID: optional('The tax ID of the seller on receipts.'),
} as const satisfies Record<string, Setting<unknown>>

/** The faults of a combination of sale settings. */
export function saleFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  const faults: string[] = []
  const { STRIPE_SECRET_KEY: secretKey = '', STRIPE_WEBHOOK_SECRET: webhookSecret = '' } = env
  const isSimulator = !namesUpstream(env)
  const mode = STRIPE_KEY.exec(secretKey)?.[1]
  if (mode === 'live' && isSimulator) {
    faults.push(
      'STRIPE_SECRET_KEY is a live key, and no upstream is configured: real money would buy play credit. Configure an upstream, or set a key of the test mode',
    )
  }
  if (mode === 'test' && !isSimulator) {
    faults.push(
      'STRIPE_SECRET_KEY is a key of the test mode: test cards would buy real credit. Set a live key, or configure no upstream to try it with the simulator',
    )
  }
  if (mode === 'live' && (env['TOLLGATE_PUBLIC_URL'] ?? '') === '') {
    faults.push(
      'STRIPE_SECRET_KEY needs TOLLGATE_PUBLIC_URL, to which buyers return after they have paid',
    )
  }
  if (webhookSecret !== '' && secretKey === '') {
    faults.push('STRIPE_WEBHOOK_SECRET is set without STRIPE_SECRET_KEY: set both')
  }
  if ((env['TOLLGATE_SELLER_TAX_ID'] ?? '') !== '' && (env['TOLLGATE_SELLER_NAME'] ?? '') === '') {
    faults.push('TOLLGATE_SELLER_TAX_ID is set without TOLLGATE_SELLER_NAME: set both')
  }
  return [...faults, ...rangeFaults(env)]
}

function rangeFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  const amountOf = (name: 'TOLLGATE_SALE_MINIMUM' | 'TOLLGATE_SALE_MAXIMUM') => {
    const text = env[name] || SALE_SETTINGS[name].fallback
    return SALE_SETTINGS[name].schema.safeParse(text).success ? Number(text) : null
  }
  const minimum = amountOf('TOLLGATE_SALE_MINIMUM')
  const maximum = amountOf('TOLLGATE_SALE_MAXIMUM')
  if (minimum === null || maximum === null || minimum <= maximum) return []
  return [
    `TOLLGATE_SALE_MINIMUM is above TOLLGATE_SALE_MAXIMUM, with ${minimum} and ${maximum} dollars: lower the one, or raise the other`,
  ]
}

/** How credit is sold. */
export function saleSettingsOf(
  config: ChainConfig & {
    readonly [Name in keyof typeof SALE_SETTINGS]: z.output<(typeof SALE_SETTINGS)[Name]['schema']>
  },
): SaleSettings {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_BASE_URL: baseUrl } = config
  const { TOLLGATE_SELLER_NAME: name, TOLLGATE_SELLER_TAX_ID: taxId } = config
  return {
    terms: {
      minimumMicros: config.TOLLGATE_SALE_MINIMUM,
      maximumMicros: config.TOLLGATE_SALE_MAXIMUM,
      feeBps: config.TOLLGATE_SALE_FEE_BPS,
    },
    ceilings: {
      holdAboveMicros: config.TOLLGATE_SALE_HOLD_ABOVE,
      holdAboveDailyMicros: config.TOLLGATE_SALE_HOLD_ABOVE_DAILY,
    },
    seller: name === null ? null : { name, taxId },
    stripe: secretKey === null ? null : { secretKey, baseUrl },
    chain: chainSettingsOf(config),
  }
}
