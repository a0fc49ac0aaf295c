const model = 'sim/text'
const messages = [{ role: 'user', content: 'Say hello.' }]

/** A body for each operation that takes one, by the operation's name; they are run by a test. */
export const EXAMPLES: ReadonlyMap<string, object> = new Map<string, object>([
  ['create_chat', { model, messages }],
  ['create_completions', { model, prompt: 'Once upon a time', max_tokens: 100 }],
  ['create_messages', { model, max_tokens: 100, messages }],
  ['create_responses', { model, input: 'Say hello.' }],
  ['create_embeddings', { model: 'sim/embed', input: ['A fjord', 'A mountain'] }],
  ['create_images', { model: 'sim/image', prompt: 'A fjord' }],
  ['createAccount', { name: 'Ada Lovelace' }],
  ['changeAccount', { disabled: false }],
  ['addCredit', { kind: 'backed', amount: 25_000_000, reference: 'invoice-1042' }],
  ['createKey', { name: 'laptop', credit_limit: 10_000_000 }],
  ['changeKey', { credit_limit: 20_000_000 }],
  ['createCode', { amount: 5_000_000 }],
  ['redeemCode', { code: 'XXXXXX-XXXXXX-XXXXXX-XXXXXX' }],
  ['settleRequest', { cost: '0.000123' }],
  ['setMaintenance', { enabled: false }],
])
