import { type Fault, fileRule, isCode } from './source-tree.ts'

// Names that say nothing of what is inside, so that anything ends up there.
const SAYS_NOTHING =
  /^(?:common|lib|shared|type|(?:.*[-.])?(?:helpers?|managers?|misc|services|types|utils?)|service)$/

/** Files and folders are nouns and verbs of the domain; a test is named for what it holds. */
export const checkFileNames = fileRule(isCode, ({ path }) =>
  path.split('/').flatMap((segment): Fault[] => {
    const stem = segment.replace(/(?:\.test)?\.(?:ts|tsx|js)$/, '')
    if (SAYS_NOTHING.test(stem))
      return [[null, `"${stem}" says nothing: name the file for what is inside`]]
    if (!/^issue-|\.\d+$/.test(stem)) return []
    return [[null, `"${stem}" is a number: name the file for the behaviour it holds`]]
  }),
)
