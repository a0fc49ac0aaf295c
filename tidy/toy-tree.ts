import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describeViolation, type Rule, readSourceTree } from './source-tree.ts'

/**
 * Runs a rule on a small tree in a temporary folder, and returns its messages, a line each. Shows that a
 * rule is able to fail.
 */
export async function judgeToyTree(
  rule: Rule,
  texts: Readonly<Record<string, string>>,
): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), 'tollgate-tidy-'))
  try {
    for (const [path, text] of Object.entries(texts)) {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), text)
    }
    return rule(await readSourceTree(root)).map(describeViolation)
  } finally {
    await rm(root, { recursive: true })
  }
}
