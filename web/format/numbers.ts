/** `48,213`. */
export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** `312.4 M`, `18,900`: short from a hundred thousand on. */
export function shortCount(value: number): string {
  for (const [unit, name] of [
    [1e12, 'T'],
    [1e9, 'B'],
    [1e6, 'M'],
  ] as const) {
    // What rounds to the next unit is of the next unit.
    if (value >= unit * 0.99995) return `${(value / unit).toFixed(1)} ${name}`
  }
  return value >= 100_000 ? `${(value / 1_000).toFixed(1)} k` : count(value)
}

/** Axis labels: `50`, `20 k`, `1.5 M`; nothing for a part of one. */
export function countTick(value: number): string {
  if (!Number.isInteger(value)) return ''
  return value >= 10_000 && value < 1e6
    ? `${count(value / 1_000)} k`
    : shortCount(value).replace('.0', '')
}

/** `3 requests`, `1 request`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${value === 1 ? noun : `${noun}s`}`
}

/** `0.41%` of a part in a whole; one place from one percent on, none from ten on. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0%'
  const share = (part / whole) * 100
  if (share < 0.01) return '<0.01%'
  // 9.97 is ten when it is rounded, and has the places of ten.
  const rounded = Number(share.toFixed(placesOf(share)))
  return `${share.toFixed(placesOf(rounded))}%`
}

function placesOf(share: number): number {
  return share < 1 ? 2 : share < 10 ? 1 : 0
}

/** Hundredths of a percent as a person reads them: `2.5%`. */
export function percentOf(basisPoints: number): string {
  return `${basisPoints / 100}%`
}

/** `12% more than`, `as much as`, `5.0 times as much as`; null if there was nothing before. */
export function change(now: number, before: number): string | null {
  if (before <= 0) return null
  const ratio = now / before
  if (ratio >= 3) {
    return `${ratio >= 10 ? count(Math.round(ratio)) : ratio.toFixed(1)} times as much as`
  }
  const share = Math.round(Math.abs(ratio - 1) * 100)
  if (share === 0) return 'as much as'
  return `${share}% ${ratio > 1 ? 'more than' : 'less than'}`
}

/** A change in few characters: `+12% from`, `−8% from`, `5.0 times`, `was`; null if there was nothing before. */
export function shortChange(now: number, before: number): string | null {
  const long = change(now, before)
  if (long === null) return null
  if (long === 'as much as') return 'was'
  const [amount = '', word] = long.split(' ')
  if (word === 'times') return `${amount} times`
  return `${word === 'more' ? '+' : '−'}${amount} from`
}

/** Hundredths of a percent as a person types percent: `5`, `2.75`; nothing for null. */
export function typedPercent(basisPoints: number | null): string {
  return basisPoints === null ? '' : String(basisPoints / 100)
}

/** A percentage that was typed, in hundredths of a percent; null: nothing was; undefined: it is none up to 100. */
export function readPercent(text: string): number | null | undefined {
  const typed = text.trim().replace(/%$/, '').trim()
  if (typed === '') return null
  const [, whole, fraction = ''] = /^(\d{1,3})(?:\.(\d{1,2}))?$/.exec(typed) ?? []
  if (whole === undefined) return undefined
  const basisPoints = Number(whole) * 100 + Number(fraction.padEnd(2, '0'))
  return basisPoints <= 10_000 ? basisPoints : undefined
}
