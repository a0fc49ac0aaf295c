import { z } from 'zod'
import type { CardMethod } from '../../sale/card/card-method.ts'
import type { DepositMethod, SaleMethod } from '../../sale/method.ts'
import type { Sale, Seller } from '../../sale/sale.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import { MICROS_PER_CENT, type Micros, micros, showMicros } from '../../vocabulary/money.ts'
import { invalidParameter, Problem } from '../../vocabulary/problem.ts'
import {
  countedRate,
  type ExchangeTerms,
  formatUnits,
  unitsFor,
} from '../../vocabulary/purchase.ts'
import { filterField, moneyField, queryText, timeAnswer, timeField } from '../fields.ts'
import { notFound } from '../not-found.ts'
import { type Answered, operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { begunOperations } from './begun.ts'
import { beyondText } from './credit.ts'
import { purchaseAnswer, purchaseShape, rethrowUnavailable } from './purchases.ts'

/** Methods of payment, quotes, and purchases. A gateway that sells nothing has none of them. */
export function saleOperations({ sale, clock, store }: OperationParts) {
  if (sale === null) return []
  return [
    offers(sale),
    quote(sale, clock),
    buy(sale, clock),
    ...begunOperations(sale, { store, clock }),
  ]
}

const amountWords = 'The credit, in micro-dollars: whole cents by card.'

function offers({ methods, seller }: Sale) {
  return operation({
    name: 'getCreditSale',
    method: 'GET',
    paths: { anyone: '/v1/credit' },
    summary: 'The methods of buying credit, and the seller.',
    query: z.strictObject({}),
    answers: { 200: saleShape },
    async run() {
      const offered = await Promise.all(methods.map(offerOf))
      const isAnyAvailable = offered.some(({ available }) => available)
      // If another method is sold, an unavailable chain is only a line of the list.
      if (!isAnyAvailable && methods.every(({ kind }) => kind === 'deposit')) {
        throw new Problem('chain_unavailable')
      }
      return { object: 'credit_sale', seller: sellerAnswer(seller), methods: offered }
    },
  })
}

function sellerAnswer(seller: Seller | null) {
  return seller && { name: seller.name, tax_id: seller.taxId }
}

async function offerOf(method: SaleMethod) {
  const { id, kind, minimumMicros: minimum, feeBps: fee_bps } = method
  switch (kind) {
    case 'card': {
      const { currency, maximumMicros: maximum } = method
      return { id, kind, currency, minimum, maximum, fee_bps, available: true }
    }
    case 'deposit': {
      const { confirm } = method
      const available = (await method.terms()).kind === 'known'
      return { id, kind, ...tokenAnswer(method), confirm, minimum, fee_bps, available }
    }
    default:
      return assertNever(kind)
  }
}

function tokenAnswer({ chainId, token: { symbol, address, decimals } }: DepositMethod) {
  return { chain_id: chainId, token: symbol, token_address: address, decimals }
}

function quote(sale: Sale, clock: Clock) {
  return operation({
    name: 'getCreditQuote',
    method: 'GET',
    paths: { anyone: '/v1/credit/quote' },
    summary: 'The price of an amount of credit.',
    query: z.strictObject({
      amount: queryText
        .refine((typed) => /^\d{1,16}$/.test(typed), 'must be a whole number of micro-dollars')
        .transform(Number)
        .describe(amountWords),
      method: filterField
        .optional()
        .describe('An `id` of `GET /v1/credit`. Optional if there is only one.'),
    }),
    answers: { 200: quoteShape },
    problems: ['not_found', 'chain_unavailable', 'quote_unavailable'],
    async run({ query: { amount, method: named } }) {
      const method = methodOf(sale, named)
      const creditMicros = checkedAmount(method, amount)
      const { currency, terms, asOfMs } = await termsOf(method, clock)
      const units = unitsFor(creditMicros, terms)
      return {
        object: 'credit_quote',
        method: method.id,
        credit: creditMicros,
        pay: { currency, amount: formatUnits(units, terms.decimals), units: String(units) },
        rate: rateText(terms),
        fee_bps: method.feeBps,
        as_of: timeAnswer(asOfMs),
        binding: false,
      }
    },
  })
}

async function termsOf(
  method: SaleMethod,
  clock: Clock,
): Promise<{ currency: string; terms: ExchangeTerms; asOfMs: number }> {
  if (method.kind === 'card') {
    const { currency, terms } = method
    return { currency, terms, asOfMs: clock.nowMs() }
  }
  const found = await method.terms()
  if (found.kind !== 'known') throw new Problem(found.kind)
  return { ...found, currency: method.token.symbol }
}

/** The dollars that a unit of the currency counts as: never more than one. */
function rateText({ rate8 }: ExchangeTerms): string {
  return formatUnits(countedRate(rate8), 8).replace(/\.?0+$/, '')
}

function buy(sale: Sale, clock: Clock) {
  return operation({
    name: 'createPurchase',
    method: 'POST',
    paths: { key: '/v1/credit/purchases', member: '/app/api/accounts/{account_id}/purchases' },
    needsOwner: true,
    summary:
      'Start a purchase of credit: the answer has the page to pay on, or the address to send tokens to.',
    body: z.strictObject({
      method: z
        .string('is required: an `id` of `GET /v1/credit`')
        .pipe(filterField)
        .describe('An `id` of `GET /v1/credit`.'),
      amount: z
        .int()
        .optional()
        .describe(`${amountWords} Required for a card; a deposit can be any amount.`),
    }),
    example: { method: 'card', amount: 25_000_000 },
    answers: { 200: depositShape, 201: begunShape },
    problems: [
      'not_found',
      'card_refused',
      'rate_limited',
      'payment_unavailable',
      'chain_unavailable',
    ],
    async run({ accountId, body: { method: named, amount } }) {
      const method = methodOf(sale, named)
      switch (method.kind) {
        case 'card':
          return beginCard({ sale, clock }, { method, accountId, amountMicros: amount })
        case 'deposit':
          if (amount !== undefined) throw amountProblem('is not known: send any amount')
          return beginDeposit(method, accountId)
        default:
          return assertNever(method)
      }
    },
  })
}

async function beginCard(
  { sale, clock }: { readonly sale: Sale; readonly clock: Clock },
  asked: {
    readonly method: CardMethod
    readonly accountId: string
    readonly amountMicros: number | undefined
  },
): Promise<Answered> {
  const { method, accountId, amountMicros } = asked
  if (amountMicros === undefined) throw amountProblem('is required')
  const creditMicros = checkedAmount(method, amountMicros)
  const begun = await sale.begin({ method, accountId, creditMicros }).catch(rethrowUnavailable)
  switch (begun.kind) {
    case 'begun': {
      const { purchase, url } = begun
      const expires_at = timeAnswer(purchase.expiresAtMs ?? clock.nowMs())
      return {
        httpStatus: 201,
        body: { purchase: purchaseAnswer(purchase, sale), url, expires_at },
      }
    }
    case 'tooManyOpen':
      throw laterProblem(
        'The account has too many open purchases. Pay one, or wait until one expires.',
        begun.nextAtMs - clock.nowMs(),
      )
    case 'newAccount': {
      const { limitMicros, nextAtMs } = begun
      const words = `at most ${showMicros(limitMicros)} in 24 hours by card, in the first seven days of an account`
      if (nextAtMs === null) throw amountProblem(`must be ${words}`)
      throw laterProblem(`This account can buy ${words}.`, nextAtMs - clock.nowMs())
    }
    case 'beyondBalance':
      throw invalidParameter('amount', beyondText('`amount`', begun))
    case 'disputed':
      throw new Problem('card_refused')
    case 'unknownAccount':
      throw notFound('account', accountId)
    default:
      return assertNever(begun)
  }
}

/** By position: the reason, and the time from now. */
function laterProblem(message: string, waitMs: number): Problem {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000))
  return new Problem('rate_limited', { message, retryAfterSeconds })
}

async function beginDeposit(method: DepositMethod, accountId: string): Promise<Answered> {
  const terms = await method.terms()
  if (terms.kind === 'chain_unavailable') throw new Problem(terms.kind)
  const { address, uri } = await method.depositAddress(accountId)
  const { decimals: _, ...shown } = tokenAnswer(method)
  const deposit = { address, ...shown, minimum: method.minimumMicros, uri }
  return { httpStatus: 200, body: { deposit } }
}

function methodOf({ methods }: Sale, named: string | undefined): SaleMethod {
  const [only, ...others] = methods
  if (named === undefined && others.length > 0) {
    throw invalidParameter(
      'method',
      `\`method\` is required: ${methods.map(({ id }) => id).join(' or ')}.`,
    )
  }
  const method = named === undefined ? only : methods.find(({ id }) => id === named)
  if (method !== undefined) return method
  throw new Problem('not_found', {
    message: 'This gateway does not sell credit by this method; GET /v1/credit lists the methods.',
    param: 'method',
  })
}

function checkedAmount(method: SaleMethod, typed: number): Micros {
  const { minimumMicros } = method
  const maximumMicros = method.kind === 'card' ? method.maximumMicros : Number.MAX_SAFE_INTEGER
  if (typed < minimumMicros || typed > maximumMicros) {
    throw amountProblem(
      `must be ${showMicros(minimumMicros)} to ${showMicros(micros(maximumMicros))}`,
    )
  }
  if (method.kind === 'card' && typed % MICROS_PER_CENT !== 0) {
    throw amountProblem('must be whole cents: a multiple of 10,000')
  }
  return micros(typed)
}

function amountProblem(words: string): Problem {
  return invalidParameter('amount', `\`amount\` ${words}.`)
}

const feeField = z
  .int()
  .describe('The part of a payment that the gateway keeps, in hundredths of a percent.')

const offerFields = {
  id: z.string().describe('The method of payment, as `method` of a purchase.'),
  minimum: moneyField.describe('The least credit of one purchase, in micro-dollars.'),
  fee_bps: feeField,
  available: z.boolean().describe('Whether the method can be used now.'),
}

const tokenFields = {
  chain_id: z.int(),
  token: z.string().describe('The symbol of the token, such as `USDC`.'),
  token_address: z.string().describe("The address of the token's contract."),
}

/** `GET /v1/credit`. */
const saleShape = z
  .object({
    object: z.literal('credit_sale'),
    seller: z
      .object({
        name: z.string(),
        tax_id: z.string().nullable().describe('The tax ID of the seller; null: none.'),
      })
      .nullable()
      .describe('The seller, as receipts name it; null: the operator has not set it.'),
    methods: z.array(
      z.discriminatedUnion('kind', [
        z.object({
          ...offerFields,
          kind: z.literal('card').describe('Paid on a page of a card provider.'),
          currency: z.string(),
          maximum: moneyField.describe('The most credit of one purchase, in micro-dollars.'),
        }),
        z.object({
          ...offerFields,
          ...tokenFields,
          kind: z.literal('deposit').describe('Tokens sent to an address of the account.'),
          decimals: z.int().describe('The number of decimal places of the token.'),
          confirm: z
            .string()
            .describe('When a deposit counts: `finalized`, `safe`, or a number of blocks.'),
        }),
      ]),
    ),
  })
  .meta({ id: 'CreditSale' })

/** `GET /v1/credit/quote`. */
const quoteShape = z
  .object({
    object: z.literal('credit_quote'),
    method: z.string(),
    credit: moneyField.describe('The credit that the payment buys, in micro-dollars.'),
    pay: z.object({
      currency: z.string(),
      amount: z.string().describe('The price in the currency, as a decimal string.'),
      units: z
        .string()
        .describe('The same price in the smallest unit of the currency, such as cents.'),
    }),
    rate: z.string().describe('Dollars of credit for one unit of the currency, before the fee.'),
    fee_bps: feeField,
    as_of: timeField,
    binding: z
      .literal(false)
      .describe('Always false: the rate at the time when the credit is added applies.'),
  })
  .meta({ id: 'CreditQuote' })

/** A payment that has begun, with its page. */
const begunShape = z
  .object({
    purchase: purchaseShape,
    url: z.string().describe('The page to pay on.'),
    expires_at: timeField.describe('When the purchase expires: it can no longer be paid.'),
  })
  .meta({ id: 'BegunPurchase' })

/** The address that tokens are sent to. */
const depositShape = z
  .object({
    deposit: z.object({
      address: z
        .string()
        .describe(
          'This address belongs to this account alone. Any amount can be sent to it, at any time.',
        ),
      ...tokenFields,
      minimum: moneyField.describe('The least credit of one deposit, in micro-dollars.'),
      uri: z.string().describe('The address as a link that wallets open.'),
    }),
  })
  .meta({ id: 'Deposit' })
