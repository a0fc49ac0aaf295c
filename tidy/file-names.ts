import { isCode, type SourceFile, type Violation } from './source-tree.ts'

// Names that say nothing of what is inside, so that anything ends up there.
const SAYS_NOTHING = new Set([
  'common',
  'helper',
  'helpers',
  'lib',
  'manager',
  'managers',
  'misc',
  'service',
  'services',
  'shared',
  'type',
  'types',
  'util',
  'utils',
])

const NOTHING_AT_THE_END = /[-.](?:helpers?|managers?|misc|services|types|utils?)$/

/** Files and folders are nouns and verbs of the domain; a test is named for what it holds. */
export function checkFileNames(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isCode(file)) continue
    for (const segment of file.path.split('/')) {
      const stem = segment.replace(/(?:\.test)?\.(?:ts|tsx|js)$/, '')
      if (SAYS_NOTHING.has(stem) || NOTHING_AT_THE_END.test(stem)) {
        violations.push({
          path: file.path,
          line: null,
          message: `"${stem}" says nothing: name the file for what is inside`,
        })
      }
      if (/^issue-|\.\d+$/.test(stem)) {
        violations.push({
          path: file.path,
          line: null,
          message: `"${stem}" is a number: name the file for the behaviour it holds`,
        })
      }
    }
  }
  return violations
}
