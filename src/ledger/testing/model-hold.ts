/** The amount that an admitted request counts in windows of a minute, and its second. */
export interface Counted {
  readonly second: number
  count: number
}

/** A hold of the model, by single micro-dollars. */
export interface Hold {
  readonly id: string
  readonly account: string
  readonly apiKey: string
  readonly instance: string
  readonly backed: number
  readonly free: number
  readonly openedAtMs: number
  /** The tokens that it counts for in the limits of tokens. */
  readonly counted: Counted | null
  state: string
  reserved: 'whole' | 'rest' | 'nothing'
  swept: boolean
  /** The source of each micro-dollar of the charge. */
  paid: ('backed' | 'free' | 'writtenOff')[]
  late: number
  generation: string | null
  stands: boolean
}

/** How many micro-dollars of the charge came from there. */
export function countOf(hold: Hold, from: Hold['paid'][number]): number {
  return hold.paid.filter((payer) => payer === from).length
}

function chargedOf(hold: Hold, purse: 'backed' | 'free'): number {
  return purse === 'backed' ? countOf(hold, 'backed') : hold.paid.length - countOf(hold, 'backed')
}

/** The amount of a purse that it still reserves. */
export function reservedOf(hold: Hold, purse: 'backed' | 'free'): number {
  if (hold.reserved === 'nothing') return 0
  if (hold.reserved === 'whole') return hold[purse]
  return Math.max(0, hold[purse] - chargedOf(hold, purse))
}

/** As `show` of a request answers. */
export function holdText(hold: Hold): string {
  const charge = `charge backed ${chargedOf(hold, 'backed')} free ${chargedOf(hold, 'free')}`
  const held = `held backed ${reservedOf(hold, 'backed')} free ${reservedOf(hold, 'free')}`
  const off =
    countOf(hold, 'writtenOff') === 0 ? '' : `, written off ${countOf(hold, 'writtenOff')}`
  const late = hold.late === 0 ? '' : `, late ${hold.late}`
  const generation = hold.generation === null ? '' : `, generation ${hold.generation}`
  const stands = hold.stands ? ', stands' : ''
  return `${hold.state}, ${charge}, ${held}${off}${late}${generation}${stands}`
}

/** Counts a cost that is learned after the release. */
export function learnLate(hold: Hold, kind: string): void {
  if (hold.state === 'released' && (kind === 'final' || kind === 'provisional')) hold.late++
}

/** As `settle` answers. */
export function settledText(hold: Hold): string {
  const overrun = Math.max(0, hold.paid.length - hold.backed - hold.free)
  return `${hold.state} ${hold.paid.length}${overrun === 0 ? '' : ` overrun ${overrun}`}`
}
