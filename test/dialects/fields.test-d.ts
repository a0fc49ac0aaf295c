import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import type { BLOCKS, MESSAGE_FIELDS } from '../../src/upstreams/anthropic/fields.ts'
import type {
  CHAT_FIELDS,
  CHAT_MESSAGE,
  CHAT_PARTS,
  COMPLETION_FIELDS,
  EMBEDDING_FIELDS,
  RESPONSE_FIELDS,
  RESPONSE_ITEMS,
  RESPONSE_PARTS,
} from '../../src/upstreams/openai/fields.ts'

/*
 * Every field and type of the vendors' own clients has a row in its table: a new one in a release of theirs fails
 * `npm run check:types` until somebody has read what it does to a bill.
 */

/** Fails to compile unless nothing is missing; the error names what is. */
type Listed<Missing extends never> = Missing

type Unlisted<Names, Table> = Exclude<Names, keyof Table>

type TypeOf<Union> = Union extends { readonly type?: infer Value } ? NonNullable<Value> : never

type Member<Union> = Union extends unknown ? keyof Union : never

type ChatMember = Member<OpenAI.ChatCompletionMessageParam>

export type Fields = [
  Listed<Unlisted<Member<OpenAI.ChatCompletionCreateParams>, typeof CHAT_FIELDS>>,
  Listed<Unlisted<Member<OpenAI.Responses.ResponseCreateParams>, typeof RESPONSE_FIELDS>>,
  Listed<Unlisted<Member<OpenAI.CompletionCreateParams>, typeof COMPLETION_FIELDS>>,
  Listed<Unlisted<Member<OpenAI.EmbeddingCreateParams>, typeof EMBEDDING_FIELDS>>,
  Listed<Unlisted<Exclude<ChatMember, 'content'>, typeof CHAT_MESSAGE>>,
  Listed<Unlisted<Member<Anthropic.MessageCreateParams>, typeof MESSAGE_FIELDS>>,
  Listed<Unlisted<Member<Anthropic.Beta.MessageCreateParams>, typeof MESSAGE_FIELDS>>,
]

export type Types = [
  Listed<Unlisted<TypeOf<OpenAI.ChatCompletionContentPart>, typeof CHAT_PARTS>>,
  Listed<Unlisted<TypeOf<OpenAI.Responses.ResponseInputItem>, typeof RESPONSE_ITEMS>>,
  Listed<Unlisted<TypeOf<OpenAI.Responses.ResponseInputContent>, typeof RESPONSE_PARTS>>,
  Listed<Unlisted<TypeOf<Anthropic.ContentBlockParam>, typeof BLOCKS>>,
  Listed<Unlisted<TypeOf<Anthropic.Beta.BetaContentBlockParam>, typeof BLOCKS>>,
]
