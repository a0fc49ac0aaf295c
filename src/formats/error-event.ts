import { openAiError } from './envelope.ts'
import { parseEventData, plainMembers } from './event-data.ts'
import type { ErrorEventInput, StreamEvent } from './format.ts'

/**
 * An error event in the form of a chunk. The chunk's own id, model and time are kept, so that a client's
 * accumulator takes it for one of the stream; everything else is ours. `choice`: what the format's
 * choices have for text, empty.
 */
export function chunkErrorEvent(
  { problem, event }: ErrorEventInput,
  choice: { readonly [member: string]: unknown },
): string {
  const chunk = parseEventData(event.data) ?? {}
  const kept = plainMembers(chunk, ['id', 'object', 'created', 'model'])
  const choices = [{ index: 0, ...choice, finish_reason: 'error' }]
  return errorFrame(event, { ...kept, ...openAiError(problem), choices })
}

/** One whole error event around this JSON, named where the provider's was. */
export function errorFrame({ name }: StreamEvent, json: unknown): string {
  return `${name === null ? '' : 'event: error\n'}data: ${JSON.stringify(json)}\n\n`
}
