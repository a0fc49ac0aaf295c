import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

/**
 * The SHA-256 of what the page is built from, in hex: paths and bytes of `web/` and of the lock file
 * below the root. `serve` compares it with the stamp of the build.
 */
export async function sourceStamp(root: string): Promise<string> {
  const entries = await readdir(join(root, 'web'), { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  paths.push('package-lock.json')
  paths.sort()
  const hash = createHash('sha256')
  for (const path of paths) {
    const bytes = await readFile(join(root, path))
    hash.update(`${path.replaceAll('\\', '/')}\n${bytes.length}\n`)
    hash.update(bytes)
  }
  return hash.digest('hex')
}
