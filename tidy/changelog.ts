import { readMarkdown } from './markdown.ts'
import type { SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

const CHANGELOG = 'CHANGELOG.md'

/** In this order, each at most once a version. */
const BUCKETS: readonly string[] = ['Safety and performance', 'Features', 'Internals']

/** The changelog has "Unreleased" on top, and each version its changes in three buckets. */
export function checkChangelog(files: readonly SourceFile[]): Violation[] {
  const changelog = files.find(({ path }) => path === CHANGELOG)
  if (changelog === undefined) return [{ path: CHANGELOG, line: null, message: 'is missing' }]
  const violations: Violation[] = []
  let versions = 0
  let nextBucket = 0
  for (const { text, line } of readMarkdown(changelog.text).prose) {
    const [, marks, title = ''] = /^(##+) (.+)$/.exec(text) ?? []
    if (marks === '##') {
      versions += 1
      nextBucket = 0
      if (versions === 1 && title !== 'Unreleased') {
        violations.push({ path: CHANGELOG, line, message: `"${title}" stands above Unreleased` })
      }
    } else if (marks === '###') {
      const bucket = BUCKETS.indexOf(title)
      if (bucket < nextBucket) {
        violations.push({
          path: CHANGELOG,
          line,
          message: `"${title}": the buckets are ${BUCKETS.join(', ')}, in this order`,
        })
      }
      nextBucket = bucket + 1
    }
  }
  if (versions === 0) violations.push({ path: CHANGELOG, line: 1, message: 'has no Unreleased' })
  return violations
}
