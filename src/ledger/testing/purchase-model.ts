interface Look {
  readonly purchase: string
  readonly account: string
  readonly credit: number
  readonly found: string
  readonly paid: number
  readonly back: number
  readonly judged: string
  /** The most that an approval of a held payment adds; 0: nothing. */
  readonly worth: number
  readonly disputed: boolean
  /** How many reversals had been posted when it began. */
  readonly seen: number
}

interface Purchase {
  readonly account: string
  credit: number
  disputed: boolean
  state: string
  paid: number
  /** The credit that each reversal removed, in the order of posting. */
  readonly reversals: number[]
}

/** The state of a purchase after a look that found it paid, by its state and what the payment is good for. */
const ON_PAYMENT: Readonly<Record<string, string>> = {
  'open credit': 'credited',
  'open hold': 'held',
  'open small': 'below_minimum',
  'expired credit': 'credited',
  'expired hold': 'held',
  'expired small': 'below_minimum',
}

/** The answers that a ledger must give about purchases, computed in another way; see `Model`. */
export class PurchaseModel {
  readonly #purchases = new Map<string, Purchase>()
  readonly #looks = new Map<string, Look>()

  look([
    id = '',
    purchase = '',
    account = '',
    credit,
    found = '',
    ...words
  ]: readonly string[]): null {
    this.#looks.set(id, {
      purchase,
      account,
      credit: Number(credit),
      found,
      paid: Number(words[0] ?? 0),
      back: words[1] === 'back' ? Number(words[2]) : 0,
      judged: words.find((word) => word === 'hold' || word === 'small') ?? 'credit',
      worth: words.includes('hold') ? Number(words[words.indexOf('hold') + 1]) || 0 : Infinity,
      disputed: words.includes('disputed'),
      seen: this.#purchases.get(purchase)?.reversals.length ?? 0,
    })
    return null
  }

  land([id = '', approved]: readonly string[]): string {
    const look = this.#looks.get(id)
    if (look === undefined) throw new Error(`no such look: ${id}`)
    const known = this.#purchases.get(look.purchase)
    if (known !== undefined && known.account !== look.account) return `conflict ${textOf(known)}`
    const isPaid = look.found === 'paid'
    if (known?.state === 'credited' && isPaid && known.paid !== look.paid) {
      return `conflict ${textOf(known)}`
    }
    const { account, credit } = look
    const was = known ?? { account, credit, disputed: false, state: 'open', paid: 0, reversals: [] }
    const state = stateAfter(was.state, look, approved === 'approved')
    const isAdded = state === 'credited' && was.state !== 'credited'
    const worth = isAdded ? Math.min(was.credit, look.worth) : was.credit
    const back = state === 'credited' && isPaid ? creditBack(worth, look) : backOf(was)
    const disputed = isPaid ? look.disputed : was.disputed
    const isSame = state === was.state && back === backOf(was) && disputed === was.disputed
    if (known !== undefined && isSame) return `unchanged ${textOf(was)}`
    if (look.seen !== was.reversals.length) return `stale ${textOf(was)}`
    if (state !== was.state && isPaid) was.paid = look.paid
    was.credit = worth
    was.disputed = disputed
    was.state = state
    if (back !== backOf(was)) was.reversals.push(back - backOf(was))
    this.#purchases.set(look.purchase, was)
    return `posted ${textOf(was)}`
  }

  dismiss(id: string): string {
    const known = this.#purchases.get(id)
    if (known === undefined) return 'unknownPurchase'
    if (known.state !== 'held') return `notHeld ${textOf(known)}`
    known.state = 'dismissed'
    return `dismissed ${textOf(known)}`
  }

  show(id: string): string {
    const known = this.#purchases.get(id)
    return known === undefined ? 'none' : textOf(known)
  }

  /** The account that a look is of. By position: the words of the action. */
  buyerOf([id = '']: readonly string[]): string {
    return this.#looks.get(id)?.account ?? ''
  }

  /** The credit that purchases have added to an account. */
  added(account: string): number {
    return this.#credited(account).reduce((sum, bought) => sum + bought.credit - backOf(bought), 0)
  }

  hasCredited(account: string): boolean {
    return this.#credited(account).length > 0
  }

  #credited(account: string): Purchase[] {
    return [...this.#purchases.values()].filter(
      (bought) => bought.account === account && bought.state === 'credited',
    )
  }
}

function stateAfter(state: string, { found, judged, worth }: Look, isApproved: boolean): string {
  if (found === 'expired') return state === 'open' ? 'expired' : state
  if (found === 'open') return state
  if (isApproved && worth > 0 && (state === 'held' || state === 'below_minimum')) return 'credited'
  return ON_PAYMENT[`${state} ${judged}`] ?? state
}

/** Micro-dollar by micro-dollar, until what went back is not above its part. */
function creditBack(credit: number, { paid, back }: Look): number {
  let micro = 0
  while (micro < credit && micro * paid < credit * back) micro++
  return micro
}

function backOf({ reversals }: Purchase): number {
  return reversals.reduce((sum, change) => sum + change, 0)
}

function textOf(purchase: Purchase): string {
  const { state, credit, reversals, disputed } = purchase
  const noted = disputed ? ' disputed' : ''
  return `${state} ${credit} back ${backOf(purchase)} in ${reversals.length}${noted}`
}
