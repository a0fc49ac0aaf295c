import type { JsonObject } from '../../../src/json/walk.ts'
import type { FailureWords, FormatRow } from '../format-row.ts'
import { numberAt, objectAt, textAt } from '../json-reading.ts'
import type { StreamEvent } from '../stream-event.ts'

/** The common parts of rows: their requests, and how answers of one family are read. */

export const QUESTION = 'Say hello.'
export const TOOL_QUESTION = 'What is the weather in Oslo?'
export const USER = 'someone@example.org'
export const PDF_URL = 'data:application/pdf;base64,JVBERi0xLjQK'
export const FILE_PART = { type: 'file', file: { filename: 'a.pdf', file_data: PDF_URL } }

/** The tool that tool rows call. */
export const WEATHER_TOOL = { name: 'get_weather', description: 'The weather in a city' }

/** The arguments of its call. */
export const WEATHER_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
}

/** Models that answer in no text. */
export const TEXT_UNFIT = ['sim/embed', 'sim/image']

/** The defaults of a format's row. */
export const OPENAI_STYLE = {
  family: 'openai',
  bodyMebibytesMax: 32,
  replacesUser: true,
  hasOwnHeaders: false,
  hasGenerations: true,
  totalTimeout: 'TOLLGATE_TOTAL_TIMEOUT_MS',
} as const satisfies Partial<FormatRow>

/** Counts of the formats that call their input a prompt. */
export function chatCounts(usage: JsonObject): readonly [number, number] {
  return [numberAt(usage, 'prompt_tokens'), numberAt(usage, 'completion_tokens')]
}

/** Counts of the formats that call it input. */
export function namedCounts(usage: JsonObject): readonly [number, number] {
  return [numberAt(usage, 'input_tokens'), numberAt(usage, 'output_tokens')]
}

/** Reads the usage that an event carries at a place. */
export function usageAt(...steps: readonly string[]) {
  return ({ json }: StreamEvent): JsonObject | undefined => objectAt(json, ...steps, 'usage')
}

/** Puts the texts at one place of all events together. */
export function joined(...steps: readonly (string | number)[]) {
  return (events: readonly StreamEvent[]): string =>
    events.map(({ json }) => textAt(json, ...steps)).join('')
}

/** The `error` member of the OpenAI-style envelope. */
export function openAiError({ code, type, message }: FailureWords): object {
  return { error: { code, type, message, param: null } }
}
