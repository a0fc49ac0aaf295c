/** Texts of which the tokens of o200k are counted, for gateways that estimate. */
export const SAMPLES: readonly {
  readonly language: string
  readonly text: string
  readonly tokens: number
}[] = [
  {
    language: 'English',
    text: 'The ledger was closed on Friday evening, and by Monday the difference had been found: a freight bill that two clerks had entered, each in good faith, on the same afternoon.',
    tokens: 37,
  },
  {
    language: 'code',
    text: 'export function add(entries: readonly Entry[]): number {\n  let sum = 0\n  for (const entry of entries) sum += entry.isDebit ? -entry.micros : entry.micros\n  return sum\n}\n',
    tokens: 47,
  },
  {
    language: 'Chinese',
    text: '星期五晚上账本已经结清，到星期一才发现差额：同一张运费单被两名职员在同一个下午各记了一次。',
    tokens: 36,
  },
  {
    language: 'JSON',
    text: '{"entries":[{"id":"e-1042","debit":true,"micros":350000,"at":"2026-11-20T18:04:11Z"},{"id":"e-1043","debit":true,"micros":350000,"at":"2026-11-20T18:04:12Z"}]}',
    tokens: 73,
  },
]
