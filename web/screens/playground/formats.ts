import type { Model } from '../../api/answers.ts'

/** The formats that the Playground speaks, the most usual first. */
export const SPOKEN = ['chat', 'messages', 'responses'] as const

/** A format that the Playground speaks. */
export type SpokenFormat = (typeof SPOKEN)[number]

/** The facts about a model that the Playground needs. */
export interface AskedModel {
  readonly id: string
  readonly format: SpokenFormat
  /** The field of the output cap. */
  readonly capField: 'max_tokens' | 'max_completion_tokens' | 'max_output_tokens'
  /** Sent where nothing else is asked for; null: nothing need be. */
  readonly usualCapTokens: number | null
}

/** The settings in addition to the messages. */
export interface ChatSettings {
  readonly model: AskedModel
  /** Empty: none. */
  readonly system: string
  /** The most tokens of an answer; null: the model's own maximum. */
  readonly capTokens: number | null
  /** Null: the model's own. */
  readonly temperature: number | null
  readonly isStreamed: boolean
}

/** A message and its author. */
interface SaidMessage {
  readonly role: string
  readonly content: string
}

/** How a model is asked. By position: its id; what the catalog has of it, if it is read. */
export function askedModel(id: string, model: Model | undefined): AskedModel {
  const format = SPOKEN.find((one) => model?.endpoints.includes(one)) ?? 'chat'
  switch (format) {
    case 'chat': {
      const takes = model?.supported_parameters ?? []
      const isNew = takes.includes('max_completion_tokens') && !takes.includes('max_tokens')
      const capField = isNew ? 'max_completion_tokens' : 'max_tokens'
      return { id, format, capField, usualCapTokens: null }
    }
    case 'messages': {
      // Servers of this format demand a cap.
      const usualCapTokens = model?.top_provider.max_completion_tokens ?? null
      return { id, format, capField: 'max_tokens', usualCapTokens }
    }
    case 'responses':
      return { id, format, capField: 'max_output_tokens', usualCapTokens: null }
  }
}

/** The body of a request, in the model's own format. */
export function bodyOf(messages: readonly SaidMessage[], settings: ChatSettings): object {
  const { model, system, capTokens, temperature, isStreamed } = settings
  const cap = capTokens ?? model.usualCapTokens
  return {
    model: model.id,
    ...said(messages, { format: model.format, system: system.trim() === '' ? null : system }),
    ...(cap === null ? {} : { [model.capField]: cap }),
    ...(temperature === null ? {} : { temperature }),
    ...(isStreamed ? { stream: true } : {}),
  }
}

function said(
  messages: readonly SaidMessage[],
  { format, system }: { readonly format: SpokenFormat; readonly system: string | null },
): object {
  const list = messages.map(({ role, content }) => ({ role, content }))
  switch (format) {
    case 'chat':
      return { messages: system === null ? list : [{ role: 'system', content: system }, ...list] }
    case 'messages':
      return { messages: list, ...(system === null ? {} : { system }) }
    case 'responses':
      return { input: list, store: false, ...(system === null ? {} : { instructions: system }) }
  }
}
