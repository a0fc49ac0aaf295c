import { existsSync, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The file system in memory of Linux; containers may have a small one. */
const MEMORY_FOLDER = '/dev/shm'
const ROOM_BYTES_MIN = 4 * 1024 ** 3

/**
 * An empty folder for the store of a test, in memory where there is room: each commit waits until its file is synced, and
 * on a busy disk ten times as long.
 */
export function makeStoreFolder(name: string): string {
  return mkdtempSync(join(memoryFolder() ?? tmpdir(), `tollgate-${name}-`))
}

/** The folder of files in memory; null: there is none, or it has no room for the stores of a test run. */
export function memoryFolder(): string | null {
  if (!existsSync(MEMORY_FOLDER)) return null
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
  return bavail * bsize >= ROOM_BYTES_MIN ? MEMORY_FOLDER : null
}
