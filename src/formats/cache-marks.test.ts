import { expect, test } from 'vitest'
import type { CacheWrites } from '../vocabulary/call.ts'
import { surveyBody } from './media.ts'
import { bodyOf } from './testing/exchange.ts'

const FIVE_MINUTES = { type: 'ephemeral' }
const HOUR = { type: 'ephemeral', ttl: '1h' }

test.each<[object, CacheWrites]>([
  [{ cache_control: FIVE_MINUTES }, 'short'],
  [{ cache_control: { type: 'ephemeral', ttl: '5m' } }, 'short'],
  [{ cache_control: { type: 'ephemeral', ttl: null } }, 'short'],
  [{ cache_control: HOUR }, 'long'],
  [{ cache_control: { type: 'ephemeral', ttl: '24h' } }, 'long'],
  [{ cache_control: { type: 'ephemeral', TTL: '1h' } }, 'long'],
  [{ cache_control: { type: 'ephemeral', ttl: 3_600 } }, 'long'],
  [{ cache_control: 'ephemeral' }, 'long'],
  [{ system: [{ type: 'text', text: 'x', cache_control: FIVE_MINUTES }] }, 'short'],
  [{ tools: [{ name: 'f', cache_control: FIVE_MINUTES }] }, 'short'],
  [{ tools: [{ name: 'f', cache_control: HOUR }], cache_control: FIVE_MINUTES }, 'long'],
  [{ cache_control: FIVE_MINUTES, tools: [{ name: 'f', cache_control: HOUR }] }, 'long'],
  [{ cache_control: null, prompt_cache_key: null }, 'none'],
  [{ prompt_cache_key: 'session-1' }, 'short'],
  [{ prompt_cache_key: 'session-1', cache_control: HOUR }, 'long'],
  [{ Prompt_Cache_Retention: '24h', prompt_cache_key: null }, 'long'],
  [{ input: [{ type: 'input_text', prompt_cache_breakpoint: { mode: 'explicit' } }] }, 'long'],
  [{ messages: ['cache_control'] }, 'none'],
])('cache marks in %j: %s', (source, cacheWrites) => {
  expect(surveyBody(bodyOf({ ...source }).root).cacheWrites).toBe(cacheWrites)
})
