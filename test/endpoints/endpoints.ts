import type { Dispatcher } from 'undici'
import { ROWS } from '../contract/rows.ts'
import { TOY_PATHS } from './toy-operation.ts'

/** One method on one path of the contract, and who may ask for it. */
export interface Endpoint {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  readonly body?: object
  /** The format of its error envelope. */
  readonly family: 'openai' | 'messages'
  /**
   * `required`: a key is asked for first; `none`: keys are ignored; `retired`: always 410;
   * `absent`: always 404.
   */
  readonly access: 'required' | 'none' | 'retired' | 'absent'
}

const INFERENCE: readonly Endpoint[] = ROWS.map(({ path, body, family }) => {
  return { method: 'POST', path, body, family, access: 'required' }
})

const openai = { method: 'GET', family: 'openai' } as const

const PUBLIC: readonly Endpoint[] = [
  { ...openai, path: '/v1', access: 'none' },
  { ...openai, path: '/v1/models', access: 'none' },
  { ...openai, path: '/v1/models/sim/text', access: 'none' },
  { ...openai, path: '/healthz', access: 'none' },
  { ...openai, path: '/readyz', access: 'none' },
]

const OF_THE_KEY: readonly Endpoint[] = [
  { ...openai, path: '/v1/key', access: 'required' },
  { ...openai, path: '/v1/balance', access: 'required' },
  { ...openai, path: '/v1/credit/purchases', access: 'required' },
  { ...openai, path: '/v1/usage', access: 'required' },
  { ...openai, path: '/v1/requests', access: 'required' },
  { ...openai, path: TOY_PATHS.key, access: 'required' },
]

const RETIRED: readonly Endpoint[] = [
  { ...openai, method: 'POST', path: '/v1/faucet', access: 'retired' },
  { ...openai, method: 'POST', path: '/v1/auth/nonce', access: 'retired' },
  { ...openai, path: '/v1/keys', access: 'retired' },
  { ...openai, method: 'POST', path: '/v1/keys', access: 'retired' },
  { ...openai, method: 'DELETE', path: '/v1/keys/key_1', access: 'retired' },
]

const ABSENT: readonly Endpoint[] = [
  // Sold by a credit sale, which this service has not.
  { ...openai, path: '/v1/credit', access: 'absent' },
  { ...openai, path: '/v1/credit/quote', access: 'absent' },
  { method: 'POST', family: 'messages', path: '/v1/messages/count_tokens', access: 'absent' },
  { method: 'POST', family: 'messages', path: '/v1/messages/batches', access: 'absent' },
  { method: 'POST', family: 'messages', path: '/v1/v1/messages', access: 'absent' },
  { method: 'POST', family: 'messages', path: '/messages', access: 'absent' },
  ...[
    '/v1/audio/speech',
    '/v1/audio/transcriptions',
    '/v1/audio/translations',
    '/v1/files',
    '/v1/batches',
    '/v1/assistants',
    '/v1/threads',
    '/v1/fine_tuning/jobs',
    '/v1/moderations',
    '/v1/images/generations',
    '/v1/images/edits',
    '/v1/images/variations',
    '/v1/responses/resp_1',
    '/v1/v1/chat/completions',
    '/v1/chat/completions/',
    '/v1/CHAT/completions',
    '/chat/completions',
    '/responses',
    '/embeddings',
    '/images',
    '/completions',
    '/models',
    '/v1/',
    '/v1/admin',
    '/v1/admin/accounts',
  ].map((path): Endpoint => ({ ...openai, method: 'POST', path, access: 'absent' })),
  { ...openai, path: '/v1/files/file_1', access: 'absent' },
  { ...openai, path: '/v1/v1/models', access: 'absent' },
  { ...openai, path: '/v1/responses/resp_1', access: 'absent' },
  { ...openai, path: '/v1/admin/audit', access: 'absent' },
]

/** Every path that the contract speaks of, and that of the toy. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...INFERENCE,
  ...PUBLIC,
  ...OF_THE_KEY,
  ...RETIRED,
  ...ABSENT,
]
