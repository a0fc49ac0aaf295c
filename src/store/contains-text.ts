import { type RawBuilder, sql } from 'kysely'

/** Whether the text of a row contains the text that a person looks for, in any case. */
export function containsText(search: string, text: RawBuilder<unknown>): RawBuilder<boolean> {
  // SQLite's `lower` changes only the letters of ASCII: others are found as they are typed.
  const [lower, typed] = [search.toLowerCase(), search].map(
    (part) => `%${part.replace(/[%_\\]/g, '\\$&')}%`,
  )
  return sql<boolean>`(lower(${text}) like ${lower} escape '\\' or ${text} like ${typed} escape '\\')`
}
