import { closeSync, existsSync, openSync } from 'node:fs'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

interface CopyAsideInput {
  readonly db: Kysely<Tables>
  /** The SQLite file that `db` has open. */
  readonly file: string
  /** The schema that the store has before it is migrated. */
  readonly version: number
}

/**
 * Copies a SQLite store to `<file>.before-<version>`, the schema that comes after its own, before it
 * is migrated. An earlier copy is kept: the new one takes the next free name. It is its owner's alone.
 * Returns the copy's path.
 */
export async function copyAside({ db, file, version }: CopyAsideInput): Promise<string> {
  const copy = freeName(`${file}.before-${version + 1}`)
  closeSync(openSync(copy, 'wx', 0o600))
  await sql`vacuum into ${copy}`.execute(db)
  return copy
}

function freeName(name: string): string {
  let free = name
  for (let copies = 2; existsSync(free); copies++) free = `${name}.${copies}`
  return free
}
