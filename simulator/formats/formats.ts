import { chat } from './chat.ts'
import type { Format } from './format.ts'

const FORMATS: readonly Format[] = [chat]

/** The wire formats by their path below `/v1`. */
export const FORMATS_BY_PATH: ReadonlyMap<string, Format> = new Map(
  FORMATS.map((format) => [format.path, format]),
)
