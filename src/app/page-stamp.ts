import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')

// The page has the paths of its calls, and texts of the vocabulary.
const FOLDERS = ['web', 'src/http/page', 'src/operations', 'src/vocabulary']

/**
 * The SHA-256 of the sources of the page, in hex: paths and bytes of its folders and of the lock file
 * below the root. The build writes it into `stamp.json`.
 */
export async function sourceStamp(root: string): Promise<string> {
  const entries = await Promise.all(
    FOLDERS.map((folder) => readdir(join(root, folder), { recursive: true, withFileTypes: true })),
  )
  const paths = entries
    .flat()
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

/**
 * The fault of the page's build, in a checkout: it is not there, or was made from other sources.
 * Null: nothing is, or there are no sources to compare it with, as in an image.
 */
export async function faultOfBuild(root = ROOT): Promise<string | null> {
  if (!existsSync(join(root, 'web', 'main.tsx'))) return null
  const sources = await sourceStamp(root)
  const built = await readFile(join(root, 'build', 'web', 'stamp.json'), 'utf8').catch(() => null)
  if (built === null) return 'the page is not built: run npm run build:page'
  return built.includes(sources)
    ? null
    : 'the page was built from other sources than those of this checkout: run npm run build:page'
}
