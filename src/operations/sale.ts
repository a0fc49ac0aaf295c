import { z } from 'zod'
import { CARD_OFFER, type Sale } from '../sale/sale.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { type Micros, micros, showMicros } from '../vocabulary/money.ts'
import { Problem } from '../vocabulary/problem.ts'
import { formatUnits, unitsFor } from '../vocabulary/purchase.ts'
import { filterField, moneyField, timeAnswer, timeField } from './fields.ts'
import { notFound, type Operation, type OperationParts, operation } from './operation.ts'
import { purchaseAnswer, purchaseShape } from './purchases.ts'

/** What is for sale, quotes, and buying. A gateway that sells nothing has none of them. */
export function saleOperations({ sale, clock }: OperationParts): readonly Operation[] {
  return sale === null ? [] : [offers(), quote(clock), buy(sale, clock)]
}

const amountWords = 'The credit, in micro-dollars: whole cents.'

const { currency, minimumMicros, maximumMicros, terms } = CARD_OFFER

function offers(): Operation {
  return operation({
    name: 'getCreditSale',
    method: 'GET',
    paths: { anyone: '/v1/credit' },
    summary: 'How credit can be bought.',
    answers: { 200: saleShape },
    async run() {
      const card = {
        id: CARD_OFFER.id,
        kind: 'card',
        currency,
        minimum: minimumMicros,
        maximum: maximumMicros,
        fee_bps: terms.feeBps,
        available: true,
      }
      return { httpStatus: 200, body: { object: 'credit_sale', methods: [card] } }
    },
  })
}

function quote(clock: Clock): Operation {
  return operation({
    name: 'getCreditQuote',
    method: 'GET',
    paths: { anyone: '/v1/credit/quote' },
    summary: 'What an amount of credit costs.',
    query: z.strictObject({
      amount: z
        .string('must be given once')
        .refine((typed) => /^\d{1,16}$/.test(typed), 'must be a whole number of micro-dollars')
        .transform(Number)
        .describe(amountWords),
      method: filterField.optional().describe('An `id` of `GET /v1/credit`.'),
    }),
    answers: { 200: quoteShape },
    problems: ['not_found'],
    async run({ query: { amount, method = CARD_OFFER.id } }) {
      requireCard(method)
      const creditMicros = checkedAmount(amount)
      const units = unitsFor(creditMicros, terms)
      return {
        httpStatus: 200,
        body: {
          object: 'credit_quote',
          method,
          credit: creditMicros,
          pay: { currency, amount: formatUnits(units, terms.decimals), units: String(units) },
          rate: '1',
          fee_bps: terms.feeBps,
          as_of: timeAnswer(clock.nowMs()),
          binding: false,
        },
      }
    },
  })
}

function buy(sale: Sale, clock: Clock): Operation {
  return operation({
    name: 'createPurchase',
    method: 'POST',
    paths: { key: '/v1/credit/purchases' },
    summary: 'Begin a purchase of credit: the answer has the page to pay on.',
    body: z.strictObject({
      method: filterField.describe('An `id` of `GET /v1/credit`.'),
      amount: z.int().describe(amountWords),
    }),
    example: { method: CARD_OFFER.id, amount: 25_000_000 },
    answers: { 201: begunShape },
    problems: ['not_found', 'rate_limited'],
    async run({ accountId, body: { method, amount } }) {
      requireCard(method)
      const begun = await sale.begin({ accountId, creditMicros: checkedAmount(amount) })
      switch (begun.kind) {
        case 'begun': {
          const { purchase, url } = begun
          const expires_at = timeAnswer(purchase.expiresAtMs ?? clock.nowMs())
          return { httpStatus: 201, body: { purchase: purchaseAnswer(purchase), url, expires_at } }
        }
        case 'tooManyOpen':
          throw new Problem('rate_limited', {
            message: 'The account has too many open purchases. Pay one, or wait until one expires.',
            retryAfterSeconds: Math.max(1, Math.ceil((begun.nextAtMs - clock.nowMs()) / 1_000)),
          })
        case 'unknownAccount':
          throw notFound('account', accountId)
      }
    },
  })
}

function requireCard(method: string): void {
  if (method === CARD_OFFER.id) return
  throw new Problem('not_found', {
    message: 'This service does not sell credit by this method; GET /v1/credit lists the methods.',
    param: 'method',
  })
}

const CENT_MICROS = 10_000

function checkedAmount(typed: number): Micros {
  if (typed < minimumMicros || typed > maximumMicros) {
    throw amountProblem(`must be ${showMicros(minimumMicros)} to ${showMicros(maximumMicros)}`)
  }
  if (typed % CENT_MICROS !== 0) throw amountProblem('must be whole cents, each 10,000')
  return micros(typed)
}

function amountProblem(words: string): Problem {
  return new Problem('invalid_parameter', { message: `\`amount\` ${words}.`, param: 'amount' })
}

const feeField = z.int().describe("The gateway's part, in hundredths of a percent.")

/** `GET /v1/credit`. */
const saleShape = z
  .object({
    object: z.literal('credit_sale'),
    methods: z.array(
      z.object({
        id: z.string(),
        kind: z.literal('card'),
        currency: z.string(),
        minimum: moneyField,
        maximum: moneyField,
        fee_bps: feeField,
        available: z.boolean().describe('Whether it can be used now.'),
      }),
    ),
  })
  .meta({ id: 'CreditSale' })

const quoteShape = z
  .object({
    object: z.literal('credit_quote'),
    method: z.string(),
    credit: moneyField,
    pay: z.object({
      currency: z.string(),
      amount: z.string().describe('The price in the currency, as decimal text.'),
      units: z.string().describe('The same in its smallest unit, such as cents.'),
    }),
    rate: z.string().describe('Dollars of credit for one of the currency, before the fee.'),
    fee_bps: feeField,
    as_of: timeField,
    binding: z.literal(false).describe('What counts is the rate when the payment is credited.'),
  })
  .meta({ id: 'CreditQuote' })

const begunShape = z
  .object({
    purchase: purchaseShape,
    url: z.string().describe('The page to pay on.'),
    expires_at: timeField.describe('Until when it can be paid.'),
  })
  .meta({ id: 'BegunPurchase' })
