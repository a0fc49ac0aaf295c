import type { PurchaseRow } from '../../store/sale-tables.ts'
import {
  decimalOfPicos,
  FEE_BASIS_POINTS_DEFAULT,
  type Micros,
  micros,
} from '../../vocabulary/money.ts'
import type { Correction, RequestFacts, Resolution } from '../../vocabulary/outcome.ts'
import {
  type PaymentJudgment,
  type PurchaseFact,
  reversalCauseOf,
} from '../../vocabulary/purchase.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import type { BeyondBalance, OpenHoldInput, Settled } from '../ledger.ts'
import type { PostPurchaseInput } from '../rules/post-purchase.ts'
import type { Bench } from './bench.ts'
import { ownLimitsOf, periodText, refusalText } from './limit-script.ts'

/**
 * Runs a script of one action a line and returns it with what each action answered, so that a test
 * compares a script with itself. Everything behind `→` is the answer; lines without are not answered.
 *
 *     at 60                                 time, in seconds
 *     account A · key K A                   made without credit and limits
 *     set A disabled · set K limit 100 · set K expires 60 · set K deleted
 *     set A allowance 100/day UTC · set K in-flight 2 · set K requests 5 · set A tokens 50 · each also none
 *     credit A backed 100 r1 · credit A free 100 r2 until 60
 *     code C 100 [until 60] [revoked] · redeem C A
 *     look L P A 100 open · expired · paid 10 [back 4] [hold] [small]   what a look found, and what it had seen
 *     land L [approved] · dismiss P
 *     open R K 30 [for A] [least 10] [free] [alone] [by I] [fee 500] [tokens 9]
 *     settle R final 21 [used 7 [read 3]] · provisional 21 [estimate] [stands] · released · unresolved
 *     stand final R · stand lookUp R          ends the wait of what stands
 *     correct R final 21 · provisional 21 [estimate] · givenUp
 *     note R G · abandon I · forget R
 *     show A · show K · show R · show P · entries A
 */
export async function runScript(bench: Bench, script: string): Promise<string> {
  const lines: string[] = []
  for (const line of script.split('\n')) {
    const [action = ''] = line.split('→')
    const words = action.trim().split(/\s+/)
    if (words[0] === '' || words[0]?.startsWith('#')) {
      lines.push(line)
      continue
    }
    const answer = await runAction(bench, words).catch((error: Error) => `rejects: ${error.name}`)
    lines.push(answer === null ? line : `${action.trimEnd().padEnd(actionWidth(line))}→ ${answer}`)
  }
  return lines.join('\n')
}

function actionWidth(line: string): number {
  return Math.max(0, line.indexOf('→'))
}

type Words = readonly string[]

const ACTIONS: Readonly<Record<string, (bench: Bench, words: Words) => Promise<string | null>>> = {
  async at(bench, [seconds]) {
    bench.nowMs = Math.round(Number(seconds) * 1_000)
    return null
  },
  async account(bench, [id = '']) {
    await bench.createAccount(id)
    return null
  },
  async key(bench, [id = '', accountId = '']) {
    await bench.createApiKey(id, accountId)
    return null
  },
  set: runSet,
  credit: runCredit,
  code: runCode,
  redeem: runRedeem,
  look: runLook,
  land: runLand,
  async dismiss(bench, [id]) {
    const verdict = await bench.ledger.dismissPurchase({ purchaseId: `pur_${id}`, note: 'why' })
    if (verdict.kind === 'unknownPurchase') return verdict.kind
    return `${verdict.kind} ${purchaseText(verdict.purchase)}`
  },
  open: runOpen,
  async settle(bench, [requestId = '', ...words]) {
    const resolution = resolutionOf(words, await feeOf(bench, requestId))
    const used = after(words, 'used')
    const read = after(words, 'read') ?? 0
    const usage = used === undefined ? null : usageOf(`${used} in, ${read} read`)
    const facts = { ...FACTS, usage }
    const input = { requestId, resolution, facts }
    const settled = await bench.ledger.settle(input)
    return `${chargeText(settled)}${settled.settledNow ? '' : ' before'}`
  },
  async correct(bench, [requestId = '', ...words]) {
    const correction = correctionOf(words, await feeOf(bench, requestId))
    const corrected = await bench.ledger.correct({ requestId, correction })
    switch (corrected.kind) {
      case 'corrected':
        return `${chargeText(corrected)} difference ${corrected.differenceMicros}`
      case 'unchanged':
        return `unchanged ${corrected.state} ${corrected.chargedMicros}`
      case 'unknownRequest':
        return 'unknown'
    }
  },
  async stand(bench, [to, ...requestIds]) {
    const input = { requestIds, to: to === 'lookUp' ? to : 'final' } as const
    return `${await bench.ledger.settleStanding(input)} changed`
  },
  async note(bench, [requestId = '', generationId = '']) {
    bench.ledger.noteGeneration({ requestId, generationId })
    return null
  },
  async abandon(bench, [instanceId = '']) {
    return `${await bench.ledger.abandonInstance(instanceId)} unresolved`
  },
  async forget(bench, requestIds) {
    return `${await bench.ledger.abandonHolds(requestIds)} unresolved`
  },
  show: runShow,
  async entries(bench, [accountId = '']) {
    const entries = await bench.entries(accountId)
    return entries
      .map(({ kind, purse, amountMicros, reference }) => {
        const cause = kind === 'reversal' ? ` ${reversalCauseOf(reference ?? '')}` : ''
        return `${kind} ${purse} ${amountMicros}${cause}`
      })
      .join(', ')
  },
}

async function runAction(bench: Bench, [action = '', ...words]: Words): Promise<string | null> {
  const run = ACTIONS[action]
  if (run === undefined) throw new Error(`no such action: ${action}`)
  return run(bench, words)
}

async function runSet(bench: Bench, [id = '', what = '', value, zone]: Words): Promise<null> {
  const limits = ownLimitsOf(what, { value, zone })
  if (limits !== null) {
    if (id.startsWith('A')) await bench.ledger.updateAccount({ id, ...limits })
    else await bench.ledger.updateApiKey({ id, ...limits })
    return null
  }
  if (id.startsWith('A')) await bench.setAccount(id, { disabled: what === 'disabled' })
  else if (what === 'limit') await bench.setApiKey(id, { creditLimitMicros: amount(value) })
  else if (what === 'expires')
    await bench.setApiKey(id, { expiresAtMs: Math.round(Number(value) * 1_000) })
  else await bench.setApiKey(id, { [what]: true })
  return null
}

async function runCredit(bench: Bench, words: Words): Promise<string> {
  const [accountId = '', purse, value, reference = ''] = words
  const until = after(words, 'until')
  const verdict = await bench.ledger.addCredit({
    accountId,
    purse: purse === 'free' ? 'free' : 'backed',
    amountMicros: amount(value),
    expiresAtMs: until === undefined ? null : Math.round(Number(until) * 1_000),
    reference,
  })
  if (verdict.kind === 'unknownAccount' || verdict.kind === 'expired') return verdict.kind
  return verdict.kind === 'beyondBalance'
    ? beyondText(verdict)
    : `${verdict.kind} ${verdict.entry.kind} ${verdict.entry.amountMicros}`
}

function beyondText({ kind, change, mostMicros }: BeyondBalance): string {
  return `${kind} ${change} ${mostMicros}`
}

async function runCode(bench: Bench, words: Words): Promise<null> {
  const [codeHash = '', value] = words
  const until = after(words, 'until')
  await bench.createCreditCode({
    id: `code_${codeHash}`,
    codeHash,
    displaySuffix: codeHash,
    amountMicros: amount(value),
    createdAtMs: 0,
    expiresAtMs: until === undefined ? null : Math.round(Number(until) * 1_000),
    revokedAtMs: words.includes('revoked') ? 0 : null,
    redeemedAtMs: null,
    redeemedBy: null,
  })
  return null
}

async function runRedeem(bench: Bench, [codeHash = '', accountId = '']: Words): Promise<string> {
  const verdict = await bench.ledger.redeemCode({ accountId, codeHash })
  if (verdict.kind === 'beyondBalance') return beyondText(verdict)
  if (verdict.kind !== 'redeemed' && verdict.kind !== 'exists') return verdict.kind
  const { kind, amountMicros, reference } = verdict.entry
  return `${verdict.kind} ${kind} ${amountMicros} ${reference}`
}

const LOOKS = new WeakMap<Bench, Map<string, PostPurchaseInput>>()

async function runLook(bench: Bench, words: Words): Promise<null> {
  const [look = '', purchase = '', accountId = '', credit, ...found] = words
  const source = `play:${purchase}`
  const looks = LOOKS.get(bench) ?? new Map<string, PostPurchaseInput>()
  LOOKS.set(bench, looks)
  looks.set(look, {
    id: `pur_${purchase}`,
    accountId,
    method: 'card',
    source,
    creditMicros: amount(credit),
    priceUnits: null,
    seenReversals: (await bench.purchase(source))?.reversals ?? 0,
    fact: factOf(found),
    approved: false,
  })
  return null
}

function factOf(words: Words): PurchaseFact {
  const [kind, units] = words
  if (kind === 'expired') return { kind }
  if (kind !== 'paid') return { kind: 'open', expiresAtMs: null }
  return {
    kind,
    paid: { currency: 'usd', units: BigInt(units ?? '') },
    reversedUnits: BigInt(after(words, 'back') ?? 0),
    paymentRef: null,
    dispute: words.includes('disputed') ? 'open' : null,
    judgment: judgmentOf(words),
  }
}

function judgmentOf(words: Words): PaymentJudgment {
  const worth = after(words, 'hold')
  if (worth !== undefined) {
    return { kind: 'hold', reason: 'why', worthMicros: worth === '-' ? null : amount(worth) }
  }
  return { kind: words.includes('small') ? 'below_minimum' : 'credit' }
}

async function runLand(bench: Bench, [look = '', approved]: Words): Promise<string> {
  const input = LOOKS.get(bench)?.get(look)
  if (input === undefined) throw new Error(`no such look: ${look}`)
  const verdict = await bench.ledger.postPurchase({ ...input, approved: approved === 'approved' })
  if (!('purchase' in verdict)) return verdict.kind
  return `${verdict.kind} ${purchaseText(verdict.purchase)}`
}

function purchaseText(row: PurchaseRow): string {
  const { state, creditMicros, reversedMicros, reversals, dispute } = row
  return `${state} ${creditMicros} back ${reversedMicros} in ${reversals}${dispute === null ? '' : ' disputed'}`
}

async function runOpen(bench: Bench, words: Words): Promise<string> {
  const [requestId = '', apiKeyId = '', needed] = words
  const apiKey = await bench.apiKey(apiKeyId).catch(() => null)
  const verdict = await bench.ledger.openHold({
    ...holdInput(requestId),
    feeBasisPoints: Number(after(words, 'fee') ?? FEE_BASIS_POINTS_DEFAULT),
    accountId: after(words, 'for') ?? apiKey?.accountId ?? 'A',
    apiKeyId,
    instanceId: after(words, 'by') ?? 'I',
    neededMicros: amount(needed),
    leastMicros: amount(after(words, 'least') ?? needed),
    freeCreditQualifies: words.includes('free'),
    freeCreditAloneRunsOnLess: words.includes('alone'),
    tokens: Number(after(words, 'tokens') ?? 1),
  })
  if (verdict.kind === 'opened') {
    return `opened ${verdict.grantedMicros} = backed ${verdict.backedMicros} + free ${verdict.freeMicros}`
  }
  return refusalText(verdict)
}

async function runShow(bench: Bench, [id = '']: Words): Promise<string> {
  if (id.startsWith('A')) {
    const row = await bench.account(id)
    const backed = `backed ${row.backedBalanceMicros} held ${row.backedHeldMicros}`
    return `${backed}, free ${row.freeBalanceMicros} held ${row.freeHeldMicros}${periodText(row.period)}`
  }
  if (id.startsWith('K')) {
    const { spendMicros, heldMicros, openHolds, period } = await bench.apiKey(id)
    return `spend ${spendMicros} held ${heldMicros} open ${openHolds}${periodText(period)}`
  }
  if (id.startsWith('P')) {
    const bought = await bench.purchase(`play:${id}`)
    return bought === undefined ? 'none' : purchaseText(bought)
  }
  const row = await bench.request(id)
  if (row === undefined) return 'none'
  const charge = `charge backed ${row.backedChargeMicros} free ${row.freeChargeMicros}`
  const held = `held backed ${row.backedHeldMicros} free ${row.freeHeldMicros}`
  const off = row.writtenOffMicros === 0 ? '' : `, written off ${row.writtenOffMicros}`
  const late = row.lateReports === 0 ? '' : `, late ${row.lateReports}`
  const generation = row.generationId === null ? '' : `, generation ${row.generationId}`
  const stands = row.costStands ? ', stands' : ''
  return `${row.state}, ${charge}, ${held}${off}${late}${generation}${stands}`
}

/** The fields of a settle other than its money. */
export const FACTS: RequestFacts = {
  httpStatus: 200,
  errorCode: null,
  usage: null,
  generationId: null,
  firstByteAtMs: null,
}

/** The fee that a request was held with. */
async function feeOf(bench: Bench, requestId: string): Promise<number> {
  return (await bench.request(requestId))?.feeBasisPoints ?? FEE_BASIS_POINTS_DEFAULT
}

function resolutionOf([kind, value, estimate]: Words, feeBasisPoints: number): Resolution {
  if (kind === 'released') return { kind }
  if (kind === 'unresolved') return { kind, generationId: null }
  const chargeMicros = amount(value)
  if (kind === 'final')
    return { kind, chargeMicros, costUsd: costOfCharge(chargeMicros, feeBasisPoints) }
  return {
    kind: 'provisional',
    chargeMicros,
    costUsd: estimate === 'estimate' ? null : costOfCharge(chargeMicros, feeBasisPoints),
    generationId: 'G',
    stands: estimate === 'stands',
  }
}

function chargeText({
  state,
  chargedMicros,
  overrunMicros,
}: Pick<Settled, 'state' | 'chargedMicros' | 'overrunMicros'>): string {
  return `${state} ${chargedMicros}${overrunMicros === 0 ? '' : ` overrun ${overrunMicros}`}`
}

function correctionOf([kind, value, estimate]: Words, feeBasisPoints: number): Correction {
  if (kind === 'givenUp') return { kind }
  const resolution = resolutionOf([kind ?? '', value ?? '', estimate ?? ''], feeBasisPoints)
  if (resolution.kind === 'final' || resolution.kind === 'provisional') return resolution
  throw new Error(`not a correction: ${kind}`)
}

/** A cost in dollars that makes this charge with the fee, which is in hundredths of a percent. */
export function costOfCharge(chargeMicros: Micros, feeBasisPoints = FEE_BASIS_POINTS_DEFAULT) {
  const picos = BigInt(chargeMicros) * 1_000_000n
  const basis = 10_000n + BigInt(feeBasisPoints)
  return decimalOfPicos((picos * 10_000n + basis / 2n) / basis)
}

/** A hold of account A with key K: a micro-dollar of backed credit, where nothing else is given. */
export function holdInput(
  requestId: string,
  { amountMicros = 1, ...fields }: Partial<OpenHoldInput> & { readonly amountMicros?: number } = {},
): OpenHoldInput {
  return {
    requestId,
    accountId: 'A',
    apiKeyId: 'K',
    instanceId: 'I',
    endpoint: 'chat',
    modelId: 'author/name',
    stream: false,
    upstream: 'openrouter',
    neededMicros: micros(amountMicros),
    leastMicros: micros(amountMicros),
    freeCreditQualifies: false,
    freeCreditAloneRunsOnLess: false,
    tokens: 1,
    priceSnapshotId: 'prices',
    feeBasisPoints: FEE_BASIS_POINTS_DEFAULT,
    ...fields,
  }
}

function amount(text: string | undefined): Micros {
  return micros(Number(text))
}

/** The word after another word; undefined: there is none. */
function after(words: Words, name: string): string | undefined {
  const place = words.indexOf(name)
  return place < 0 ? undefined : words[place + 1]
}
