import type { LedgerLimits } from '../ledger.ts'
import { CodeModel } from './code-model.ts'
import { LimitModel } from './limit-model.ts'
import { countOf, type Hold, holdText, learnLate, reservedOf, settledText } from './model-hold.ts'
import { PurchaseModel } from './purchase-model.ts'

interface Line {
  readonly account: string
  readonly purse: string
  readonly amountMicros: number
  readonly kind: string
  readonly reference?: string | undefined
  readonly until?: number | undefined
}

const LIMITS: ReadonlySet<string> = new Set(['allowance', 'in-flight', 'requests', 'tokens'])

/**
 * The answers that a ledger must give to a script, computed in another way: only events are kept, every figure is added
 * up when it is asked for, and money moves by single micro-dollars.
 */
export class Model {
  readonly #limits: LimitModel
  readonly #lines: Line[] = []
  readonly #holds: Hold[] = []
  readonly #purchases = new PurchaseModel()
  readonly #codes = new CodeModel()
  readonly #disabled = new Set<string>()
  readonly #deleted = new Set<string>()
  readonly #expiries = new Map<string, number>()
  readonly #keyLimits = new Map<string, number>()
  readonly #owners: ReadonlyMap<string, string>
  #nowMs = 0

  constructor(limits: LedgerLimits, owners: ReadonlyMap<string, string>) {
    this.#limits = new LimitModel(limits)
    this.#owners = owners
  }

  /** The script with what each action must answer. */
  run(script: string): string {
    return script
      .split('\n')
      .map((line) => {
        const words = line.trim().split(/\s+/)
        const answer = this.#act(words)
        return answer === null ? line : `${line.trimEnd()}→ ${answer}`
      })
      .join('\n')
  }

  #act([action, ...words]: readonly string[]): string | null {
    switch (action) {
      case 'at':
        this.#nowMs = Math.round(Number(words[0]) * 1_000)
        return null
      case 'set':
        return this.#set(words)
      case 'credit':
        return this.#credit(words)
      case 'code':
        return this.#codes.make(words)
      case 'redeem':
        return this.#redeem(words)
      case 'look':
        return this.#purchases.look(words)
      case 'land':
        return this.#land(words)
      case 'dismiss':
        return this.#purchases.dismiss(words[0] ?? '')
      case 'open':
        return this.#open(words)
      case 'settle':
        return this.#settle(words)
      case 'correct':
        return this.#correct(words)
      case 'stand':
        return this.#stand(words)
      case 'abandon':
        return this.#abandon(words[0] ?? '')
      case 'forget':
        return this.#lose(this.#holds.filter(({ id }) => words.includes(id)))
      case 'show':
        return this.#show(words[0] ?? '')
      default:
        return null
    }
  }

  #set(words: readonly string[]): null {
    const [id = '', what, value] = words
    if (what === 'enabled') this.#disabled.delete(id)
    if (what === 'disabled') this.#disabled.add(id)
    if (what === 'deleted') this.#deleted.add(id)
    if (what === 'expires') this.#expiries.set(id, Math.round(Number(value) * 1_000))
    if (what === 'limit') this.#keyLimits.set(id, Number(value))
    if (LIMITS.has(what ?? '')) this.#limits.set(words)
    return null
  }

  #credit(words: readonly string[]): string {
    const [account = '', purse = '', value, reference = ''] = words
    const amountMicros = Number(value)
    const untilText = wordAfter(words, 'until')
    const until = untilText === undefined ? undefined : Math.round(Number(untilText) * 1_000)
    const same = this.#lines.find(
      (line) => line.account === account && line.reference === reference,
    )
    if (same !== undefined) {
      const repeat =
        same.purse === purse && same.amountMicros === amountMicros && same.until === until
      return `${repeat ? 'exists' : 'conflict'} ${same.kind} ${same.amountMicros}`
    }
    if (amountMicros === 0) return 'rejects: StoreRefused'
    if (purse === 'free' && (amountMicros < 0 || until === undefined || until <= this.#nowMs)) {
      return 'rejects: StoreRefused'
    }
    this.#lapse(account)
    const kind = purse === 'free' ? 'grant' : amountMicros > 0 ? 'top_up' : 'chargeback'
    this.#lines.push({ account, purse, amountMicros, kind, reference, until })
    return `added ${kind} ${amountMicros}`
  }

  #redeem(words: readonly string[]): string {
    const answer = this.#codes.redeem(words, this.#nowMs)
    if (answer.startsWith('redeemed')) this.#lapse(words[1] ?? '')
    return answer
  }

  #land(words: readonly string[]): string {
    const answer = this.#purchases.land(words)
    if (answer.startsWith('posted credited')) this.#lapse(this.#purchases.buyerOf(words))
    return answer
  }

  #open(words: readonly string[]): string {
    const [id = '', apiKey = '', neededText] = words
    const needed = Number(neededText)
    const least = Number(wordAfter(words, 'least') ?? needed)
    const account = this.#owners.get(apiKey) ?? ''
    const earlier = this.#holds.find((hold) => hold.id === id)
    if (earlier !== undefined) {
      if (earlier.state !== 'open') return 'rejects: StoreUnavailable'
      return openedText(earlier.backed, earlier.free)
    }
    const asking = {
      account,
      apiKey,
      tokens: Number(wordAfter(words, 'tokens') ?? 1),
      nowMs: this.#nowMs,
      everBacked: this.#everBacked(account),
      open: this.#holds.filter(({ state }) => state === 'open'),
    }
    const refusal = this.#refuseKey(account, apiKey) ?? this.#limits.refuse(asking)
    if (refusal !== null) return refusal

    const qualifies = words.includes('free')
    const backed = this.#available(account, 'backed')
    const free = qualifies ? this.#available(account, 'free') : 0
    const onlyFree = this.#balance(account, 'backed') <= 0
    const held = this.#held(account, 'backed') + (qualifies ? this.#held(account, 'free') : 0)
    if (!qualifies && onlyFree && this.#balance(account, 'free') > 0 && !this.#lapsed(account)) {
      return factsText('free_credit_not_eligible', [least, backed + free, held])
    }
    const enough = words.includes('alone') && onlyFree ? Math.min(least, free) : least
    const limit = this.#keyLimits.get(apiKey)
    const used = this.#spend(apiKey) + this.#keyHeld(apiKey)
    const left = limit === undefined ? Number.POSITIVE_INFINITY : Math.max(0, limit - used)
    const isTooLittle = (some: number) => some === 0 || some < enough
    if (isTooLittle(left)) {
      return factsText('key_limit_reached', [least, left, this.#keyHeld(apiKey)])
    }
    const ofKey = this.#limits.allowance(apiKey, this.#holds, this.#nowMs)
    if (ofKey !== null && isTooLittle(ofKey.left)) {
      return factsText('key_limit_reached', [least, ofKey.left, ofKey.held], ofKey.resets)
    }
    if (isTooLittle(backed + free)) {
      return factsText('insufficient_credit', [least, backed + free, held])
    }
    const ofAccount = this.#limits.allowance(account, this.#holds, this.#nowMs)
    if (ofAccount !== null && isTooLittle(ofAccount.left)) {
      const { left: leftOfAccount, held: heldOfAccount, resets } = ofAccount
      return factsText('insufficient_credit', [least, leftOfAccount, heldOfAccount], resets)
    }
    const granted = Math.min(
      ...[needed, left, backed + free],
      ...[ofKey, ofAccount].map((allowance) => allowance?.left ?? Number.POSITIVE_INFINITY),
    )
    const fromFree = Math.min(granted, free)
    this.#holds.push({
      id,
      account,
      apiKey,
      instance: wordAfter(words, 'by') ?? 'I',
      backed: granted - fromFree,
      free: fromFree,
      openedAtMs: this.#nowMs,
      counted: this.#limits.admit(asking),
      state: 'open',
      reserved: 'whole',
      swept: false,
      paid: [],
      late: 0,
      generation: null,
      stands: false,
    })
    this.#lapse(account)
    return openedText(granted - fromFree, fromFree)
  }

  #refuseKey(account: string, apiKey: string): string | null {
    if (this.#deleted.has(apiKey)) return 'invalid_api_key'
    if (this.#disabled.has(account)) return 'account_suspended'
    if (this.#disabled.has(apiKey)) return 'api_key_disabled'
    return this.#nowMs >= (this.#expiries.get(apiKey) ?? Number.POSITIVE_INFINITY)
      ? 'api_key_expired'
      : null
  }

  #settle(words: readonly string[]): string {
    const [id, kind = '', value, estimate] = words
    const hold = this.#holds.find((candidate) => candidate.id === id)
    if (hold === undefined) return 'rejects: StoreRefused'
    if (hold.state !== 'open' && !hold.swept) {
      learnLate(hold, kind)
      return `${settledText(hold)} before`
    }
    this.#move(hold, {
      state: kind,
      chargeMicros: Number(value ?? 0),
      estimate: estimate === 'estimate',
    })
    hold.stands = kind === 'provisional' && estimate === 'stands'
    const used = wordAfter(words, 'used') ?? (kind === 'released' ? '0' : undefined)
    if (hold.counted !== null && used !== undefined) hold.counted.count = Number(used)
    return settledText(hold)
  }

  #correct([id, kind = '', value, estimate]: readonly string[]): string {
    const hold = this.#holds.find((candidate) => candidate.id === id)
    if (hold === undefined) return 'unknown'
    const before = hold.paid.length
    const moves =
      hold.state === 'unresolved' || (hold.state === 'provisional' && kind !== 'provisional')
    if (!moves) {
      learnLate(hold, kind)
      return `unchanged ${hold.state} ${before}`
    }
    if (kind !== 'givenUp') {
      this.#move(hold, {
        state: kind,
        chargeMicros: Number(value),
        estimate: estimate === 'estimate',
      })
    } else {
      const state = hold.state === 'unresolved' ? 'released' : 'final'
      this.#move(hold, { state, chargeMicros: before, estimate: false })
    }
    return `${settledText(hold)} difference ${hold.paid.length - before}`
  }

  #stand([to, ...ids]: readonly string[]): string {
    const standing = this.#holds.filter(
      ({ id, state, stands }) => stands && state === 'provisional' && ids.includes(id),
    )
    for (const hold of standing) {
      if (to === 'final') hold.state = to
      else hold.stands = false
    }
    return `${standing.length} changed`
  }

  #abandon(instance: string): string {
    return this.#lose(this.#holds.filter((hold) => hold.instance === instance))
  }

  #lose(holds: readonly Hold[]): string {
    const lost = holds.filter(({ state }) => state === 'open')
    for (const hold of lost) {
      this.#move(hold, { state: 'unresolved', chargeMicros: 0, estimate: false })
      hold.swept = true
    }
    return `${lost.length} unresolved`
  }

  #move(hold: Hold, to: { state: string; chargeMicros: number; estimate: boolean }): void {
    // Its own credit is what it paid before and has reserved; beyond that, it takes credit that no other hold has.
    let freeLeft =
      countOf(hold, 'free') + reservedOf(hold, 'free') + this.#available(hold.account, 'free')
    const freeAlone = hold.backed === 0 && (hold.free > 0 || !this.#everBacked(hold.account))
    let backedLeft = countOf(hold, 'backed') + this.#available(hold.account, 'backed')
    hold.paid = []
    for (let micro = 1; micro <= to.chargeMicros; micro++) {
      if (micro > hold.free && !freeAlone) hold.paid.push('backed')
      else if (freeLeft-- > 0) hold.paid.push('free')
      else hold.paid.push(freeAlone && backedLeft-- > 0 ? 'backed' : 'writtenOff')
    }
    hold.state = to.state
    hold.swept = false
    hold.stands = false
    if (to.state === 'provisional') hold.generation = 'G'
    if (to.state === 'unresolved') hold.reserved = 'whole'
    else hold.reserved = to.state === 'provisional' && to.estimate ? 'rest' : 'nothing'
    this.#lapse(hold.account)
  }

  #lapse(account: string): void {
    const unheld = this.#balance(account, 'free') - this.#held(account, 'free')
    if (unheld <= 0 || !this.#lapsed(account)) return
    this.#lines.push({ account, purse: 'free', amountMicros: -unheld, kind: 'expiry' })
  }

  #show(id: string): string {
    if (this.#owners.has(id)) {
      const open = this.#holds.filter(({ apiKey, state }) => apiKey === id && state === 'open')
      return `spend ${this.#spend(id)} held ${this.#keyHeld(id)} open ${open.length}`
    }
    const hold = this.#holds.find((candidate) => candidate.id === id)
    if (hold !== undefined) return holdText(hold)
    if (id.startsWith('req_')) return 'none'
    if (id.startsWith('P')) return this.#purchases.show(id)
    const backed = `backed ${this.#balance(id, 'backed')} held ${this.#held(id, 'backed')}`
    return `${backed}, free ${this.#balance(id, 'free')} held ${this.#held(id, 'free')}`
  }

  #balance(account: string, purse: string): number {
    const lines = this.#lines.filter((line) => line.account === account && line.purse === purse)
    const paid = this.#holds.filter((hold) => hold.account === account).flatMap((hold) => hold.paid)
    const added = lines.reduce((sum, { amountMicros }) => sum + amountMicros, 0)
    const bought =
      purse === 'backed' ? this.#purchases.added(account) + this.#codes.added(account) : 0
    return added + bought - paid.filter((from) => from === purse).length
  }

  #held(account: string, purse: 'backed' | 'free'): number {
    return this.#holds
      .filter((hold) => hold.account === account)
      .reduce((sum, hold) => sum + reservedOf(hold, purse), 0)
  }

  #available(account: string, purse: 'backed' | 'free'): number {
    if (purse === 'free' && this.#lapsed(account)) return 0
    return Math.max(0, this.#balance(account, purse) - this.#held(account, purse))
  }

  #lapsed(account: string): boolean {
    const untils = this.#lines.flatMap((line) =>
      line.account === account ? (line.until ?? []) : [],
    )
    return untils.length > 0 && this.#nowMs >= Math.max(...untils)
  }

  #everBacked(account: string): boolean {
    const isTopUp = (line: Line) => line.account === account && line.kind === 'top_up'
    const hasBought = this.#purchases.hasCredited(account) || this.#codes.added(account) > 0
    return hasBought || this.#lines.some(isTopUp)
  }

  #spend(apiKey: string): number {
    return this.#holds.filter((hold) => hold.apiKey === apiKey).flatMap(({ paid }) => paid).length
  }

  #keyHeld(apiKey: string): number {
    return this.#holds
      .filter((hold) => hold.apiKey === apiKey)
      .reduce((sum, hold) => sum + reservedOf(hold, 'backed') + reservedOf(hold, 'free'), 0)
  }
}

function openedText(backed: number, free: number): string {
  return `opened ${backed + free} = backed ${backed} + free ${free}`
}

function factsText(
  code: string,
  [needed, available, held]: readonly number[],
  resets?: number,
): string {
  if (needed === 0 && available === 0 && held === 0) return code
  const when = resets === undefined ? '' : `, resets ${resets}`
  return `${code} needs ${needed} of ${available}, held ${held}${when}`
}

function wordAfter(words: readonly string[], name: string): string | undefined {
  const place = words.indexOf(name)
  return place < 0 ? undefined : words[place + 1]
}
