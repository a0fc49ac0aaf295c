import { type RawBuilder, sql } from 'kysely'

/** Whether the text of a row contains the text that a person looks for, in any case. */
export function containsText(search: string, text: RawBuilder<unknown>): RawBuilder<boolean> {
  // SQLite's `lower` changes only the letters of ASCII: others are found as they are typed.
  const [lower, typed] = [search.toLowerCase(), search].map(
    (part) => `%${part.replace(/[%_\\]/g, '\\$&')}%`,
  )
  return sql<boolean>`(lower(${text}) like ${lower} escape '\\' or ${text} like ${typed} escape '\\')`
}

/** Whether one of these conditions holds. There must be at least one. */
export function isAny(conditions: readonly RawBuilder<unknown>[]): RawBuilder<boolean> {
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`
}

/** Whether a column has one of these words. Literals, because an index of such rows is chosen by the text of the query. */
export function isOneOf(column: string, words: readonly string[]): RawBuilder<boolean> {
  return isAny(words.map((word) => sql`${sql.raw(column)} = ${sql.lit(word)}`))
}
