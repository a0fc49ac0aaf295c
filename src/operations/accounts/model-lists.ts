import { z } from 'zod'
import type { ApiKeyRow } from '../../store/schema.ts'
import { isModelId } from '../../upstreams/listing/listing.ts'
import { given } from '../check-input.ts'

const PATTERNS_MAX = 200
const PATTERN_CHARS_MAX = 200

// The beginning of an id; no alias has it.
const WHOLE_AUTHOR = /^[A-Za-z0-9][\w.-]*\/\*$/

function isPattern(text: string): boolean {
  if (text.length > PATTERN_CHARS_MAX) return false
  return WHOLE_AUTHOR.test(text) || (isModelId(text) && !text.startsWith('~'))
}

const patternsField = z
  .array(
    z
      .string()
      .trim()
      .refine(
        isPattern,
        `must be an ID as GET /v1/models lists it, such as acme/sage-pro, or acme/* for all of an author's, with at most ${PATTERN_CHARS_MAX} characters`,
      ),
  )
  .max(PATTERNS_MAX, `must have at most ${PATTERNS_MAX} entries`)
  .transform((patterns): readonly string[] => [...new Set(patterns)])
  .nullish()

/** The models that an account's keys, or one key, can use. A list that is left out is unchanged. */
export const modelsField = z
  .strictObject({
    allow: patternsField.describe(
      'The only models that can be used: IDs of `GET /v1/models`, and `author/*` for all models of an author. Empty or null: all models.',
    ),
    deny: patternsField.describe(
      'Models that cannot be used, even if `allow` lists them. Empty or null: none.',
    ),
  })
  .nullish()
  .describe(
    'The models that can be used. The lists of the key and those of its account both apply. A list that is left out is unchanged; null removes both.',
  )

/** The lists as responses have them. */
export const modelsShape = z
  .object({ allow: z.array(z.string()), deny: z.array(z.string()) })
  .nullable()
  .describe('The lists of models that can be used; an empty `allow` means all. Null: all models.')

type Patterns = z.output<typeof patternsField>

type Lists = Pick<ApiKeyRow, 'modelsAllow' | 'modelsDeny'>

/** The changes of the lists by a body. */
export function modelListsOf(models: z.output<typeof modelsField>): Partial<Lists> {
  if (models === undefined) return {}
  if (models === null) return { modelsAllow: null, modelsDeny: null }
  return given({ modelsAllow: nullIfEmpty(models.allow), modelsDeny: nullIfEmpty(models.deny) })
}

function nullIfEmpty(patterns: Patterns): Patterns {
  return patterns?.length === 0 ? null : patterns
}

/** The lists of a row as responses have them. */
export function modelsAnswer({ modelsAllow, modelsDeny }: Lists): z.output<typeof modelsShape> {
  if (modelsAllow === null && modelsDeny === null) return null
  return { allow: [...(modelsAllow ?? [])], deny: [...(modelsDeny ?? [])] }
}
