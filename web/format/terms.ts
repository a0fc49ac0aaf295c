/** What keys and accounts may use, as the API takes it; null: nothing of it is set. */
export interface Terms {
  readonly models: { readonly allow: readonly string[]; readonly deny: readonly string[] } | null
}

/** The same as it is typed. */
export interface TypedTerms {
  readonly allow: string
  readonly deny: string
}

/** No terms. */
export const NO_TERMS: Terms = { models: null }

/** Terms as a person changes them. */
export function typedTerms({ models }: Terms): TypedTerms {
  return { allow: models?.allow.join(', ') ?? '', deny: models?.deny.join(', ') ?? '' }
}

/** Reads what was typed. Which models there may be, the server says. */
export function readTerms(typed: TypedTerms): Terms {
  const [allow, deny] = [patternsOf(typed.allow), patternsOf(typed.deny)]
  return { models: allow.length + deny.length === 0 ? null : { allow, deny } }
}

function patternsOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter(Boolean)
}

/** The terms that are other than before: what was not touched is not sent. */
export function changedTerms(before: Terms, { models }: Terms): Partial<Terms> {
  return JSON.stringify(before.models) === JSON.stringify(models) ? {} : { models }
}
