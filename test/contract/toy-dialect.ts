import { capEditIn, refuseUncounted, usageEdits } from '../../src/upstreams/counted-calls.ts'
import { openaiCompatible } from '../../src/upstreams/openai-compatible/openai-compatible.ts'
import { modelEdit, userEdit } from '../../src/upstreams/openrouter/rewrites.ts'
import type { Dialect } from '../../src/upstreams/upstream.ts'
import type { Wire } from '../../src/upstreams/wire.ts'

const like = openaiCompatible.wires.get('chat')
if (like === undefined) throw new Error('the dialect speaks no chat')

const chat: Wire = {
  ...like,
  refuse: refuseUncounted,
  rewrites: (input) => [
    ...modelEdit(input.call, input.offer),
    userEdit(input.accountTag),
    ...usageEdits(input.call, input.body.root),
    ...capEditIn('max_completion_tokens', input),
  ],
}

/** A dialect that exists only in this file: only chat, and its own header. */
export const toyDialectOfChat: Dialect = {
  ...openaiCompatible,
  headers: (apiKey) => ['authorization', `Bearer ${apiKey}`, 'x-toy-version', '1'],
  wires: new Map([['chat', chat]]),
}
