/** Texts for gateways that estimate. */
const TEXTS = {
  English:
    'The ledger was closed on Friday evening, and by Monday the difference had been found: a freight bill that two clerks had entered, each in good faith, on the same afternoon.',
  code: 'export function add(entries: readonly Entry[]): number {\n  let sum = 0\n  for (const entry of entries) sum += entry.isDebit ? -entry.micros : entry.micros\n  return sum\n}\n',
  Chinese:
    '星期五晚上账本已经结清，到星期一才发现差额：同一张运费单被两名职员在同一个下午各记了一次。',
  JSON: '{"entries":[{"id":"e-1042","debit":true,"micros":350000,"at":"2026-11-20T18:04:11Z"},{"id":"e-1043","debit":true,"micros":350000,"at":"2026-11-20T18:04:12Z"}]}',
}

/** The same with their tokens of o200k, counted. */
export const SAMPLES = [
  { language: 'English', text: TEXTS.English, tokens: 37 },
  { language: 'code', text: TEXTS.code, tokens: 47 },
  { language: 'Chinese', text: TEXTS.Chinese, tokens: 36 },
  { language: 'JSON', text: TEXTS.JSON, tokens: 73 },
]
