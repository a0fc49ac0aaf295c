import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import type {
  BLOCKS,
  MESSAGE_FIELDS,
  THINKING,
  TOOLS,
} from '../../src/upstreams/anthropic/fields.ts'
import type { ObjectRow } from '../../src/upstreams/fields.ts'
import type {
  CHAT_FIELDS,
  CHAT_MESSAGE,
  CHAT_PARTS,
  CHAT_TOOLS,
  COMPLETION_FIELDS,
  EMBEDDING_FIELDS,
} from '../../src/upstreams/openai/fields.ts'
import type {
  RESPONSE_FIELDS,
  RESPONSE_ITEMS,
  RESPONSE_PARTS,
  RESPONSE_TOOLS,
} from '../../src/upstreams/openai/response-fields.ts'

/*
 * Every field, type and member of the vendors' own clients has a row in its table: a new one in a release of theirs fails
 * `npm run check:types` until somebody has read what it does to a bill.
 */

/** Fails to compile unless nothing is missing; the error names what is. */
type Listed<Missing extends never> = Missing

type Unlisted<Names, Table> = Exclude<Names, keyof Table>

type TypeOf<Union> = Union extends { readonly type?: infer Value } ? NonNullable<Value> : never

type Member<Union> = Union extends unknown ? keyof Union : never

/** The members of each type that passes, which its row does not list. */
type UnlistedMembers<Union, Table> = {
  [Type in keyof Table]: Table[Type] extends ObjectRow<infer Rows>
    ? Unlisted<Member<Extract<Union, { readonly type?: Type | null }>>, Rows>
    : never
}[keyof Table]

type ChatMember = Member<OpenAI.ChatCompletionMessageParam>

export type Fields = [
  Listed<Unlisted<Member<OpenAI.ChatCompletionCreateParams>, typeof CHAT_FIELDS>>,
  Listed<Unlisted<Member<OpenAI.Responses.ResponseCreateParams>, typeof RESPONSE_FIELDS>>,
  Listed<Unlisted<Member<OpenAI.Beta.Responses.ResponseCreateParams>, typeof RESPONSE_FIELDS>>,
  Listed<Unlisted<Member<OpenAI.CompletionCreateParams>, typeof COMPLETION_FIELDS>>,
  Listed<Unlisted<Member<OpenAI.EmbeddingCreateParams>, typeof EMBEDDING_FIELDS>>,
  Listed<Unlisted<Exclude<ChatMember, 'content'>, typeof CHAT_MESSAGE>>,
  Listed<Unlisted<Member<Anthropic.MessageCreateParams>, typeof MESSAGE_FIELDS>>,
  Listed<Unlisted<Member<Anthropic.Beta.MessageCreateParams>, typeof MESSAGE_FIELDS>>,
  Listed<Unlisted<Member<Anthropic.ThinkingConfigParam>, typeof THINKING>>,
  Listed<Unlisted<Member<Anthropic.Beta.BetaThinkingConfigParam>, typeof THINKING>>,
]

export type Types = [
  Listed<Unlisted<TypeOf<OpenAI.ChatCompletionContentPart>, typeof CHAT_PARTS>>,
  Listed<Unlisted<TypeOf<OpenAI.ChatCompletionTool>, typeof CHAT_TOOLS>>,
  Listed<Unlisted<TypeOf<OpenAI.Responses.ResponseInputItem>, typeof RESPONSE_ITEMS>>,
  Listed<Unlisted<TypeOf<OpenAI.Responses.ResponseInputContent>, typeof RESPONSE_PARTS>>,
  Listed<Unlisted<TypeOf<OpenAI.Beta.BetaResponseInputItem>, typeof RESPONSE_ITEMS>>,
  Listed<Unlisted<TypeOf<OpenAI.Beta.BetaResponseInputContent>, typeof RESPONSE_PARTS>>,
  Listed<Unlisted<TypeOf<OpenAI.Beta.BetaTool>, typeof RESPONSE_TOOLS>>,
  Listed<Unlisted<TypeOf<OpenAI.Responses.Tool>, typeof RESPONSE_TOOLS>>,
  Listed<Unlisted<TypeOf<Anthropic.ContentBlockParam>, typeof BLOCKS>>,
  Listed<Unlisted<TypeOf<Anthropic.Beta.BetaContentBlockParam>, typeof BLOCKS>>,
  Listed<Unlisted<TypeOf<Anthropic.ToolUnion>, typeof TOOLS>>,
  Listed<Unlisted<TypeOf<Anthropic.Beta.BetaToolUnion>, typeof TOOLS>>,
]

type ResponsePart =
  | OpenAI.Responses.ResponseInputContent
  | OpenAI.Responses.ResponseOutputMessage['content'][number]

export type Members = [
  Listed<UnlistedMembers<OpenAI.ChatCompletionContentPart, typeof CHAT_PARTS>>,
  Listed<UnlistedMembers<OpenAI.Responses.ResponseInputItem, typeof RESPONSE_ITEMS>>,
  Listed<UnlistedMembers<OpenAI.Beta.BetaResponseInputItem, typeof RESPONSE_ITEMS>>,
  Listed<UnlistedMembers<OpenAI.Beta.BetaResponseInputContent, typeof RESPONSE_PARTS>>,
  Listed<UnlistedMembers<ResponsePart, typeof RESPONSE_PARTS>>,
  Listed<UnlistedMembers<Anthropic.ContentBlockParam, typeof BLOCKS>>,
  Listed<UnlistedMembers<Anthropic.Beta.BetaContentBlockParam, typeof BLOCKS>>,
]
