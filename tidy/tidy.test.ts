import { join } from 'node:path'
import { expect, test } from 'vitest'
import { METRICS } from '../src/telemetry/metric-table.ts'
import { checkArchitecturePage } from './architecture-page.ts'
import {
  checkAssertions,
  checkDialectWords,
  checkDocComments,
  checkFloats,
  checkHttpImports,
  checkLeftovers,
  checkOldFunctions,
  checkParameters,
} from './code-rules.ts'
import { COMMANDS_WITH_TESTS, checkDocumentedCommands } from './documented-commands.ts'
import { checkDuplicates } from './house.ts'
import { checkLayers, ROWS } from './layers.ts'
import { checkAlertRows, checkAlerts, checkChangelog, checkLinks, checkTitles } from './markdown.ts'
import { checkFileNames, checkWords } from './names.ts'
import { checkCommentBeginnings, checkLabels, checkPlainEnglish } from './plain-english.ts'
import { describeViolation, type Rule, readSourceTree } from './source-tree.ts'
import { checkTablePage, TABLE_PAGES } from './table-pages.ts'
import { checkTestHygiene } from './test-hygiene.ts'
import { checkUnits } from './units.ts'

const files = await readSourceTree(join(import.meta.dirname, '..'))

// Each rule has its own test that shows, on a toy tree, that it can fail.
const RULES: readonly (readonly [string, Rule])[] = [
  ['imports go to strictly lower layers, and the simulator stands alone', checkLayers],
  ['files and folders are named for what is inside', checkFileNames],
  ['numbers that are durations, sizes or money say their unit', checkUnits],
  ['names use the words of the house', checkWords],
  ["a provider's words stand in the folder of its dialect alone", checkDialectWords],
  ['parameters are distinguishable at the call', checkParameters],
  ['type assertions give their reason', checkAssertions],
  ['floating point stays out of the server', checkFloats],
  ['no function is assigned to a property before it has a name', checkOldFunctions],
  ['no value of node:http is imported', checkHttpImports],
  ['tests run whole, on real parts, and never sleep', checkTestHygiene],
  ['every export of src/ has a doc comment', checkDocComments],
  ['no six lines of src/ stand twice', checkDuplicates],
  ['nothing is left over in comments', checkLeftovers],
  ['pages and messages are in plain English', checkPlainEnglish],
  ['labels of the page have the words of the glossary', checkLabels],
  ['a doc comment begins with a noun or a verb', checkCommentBeginnings],
  ['every Markdown file has one title', checkTitles],
  ['every relative link resolves', checkLinks],
  ['the changelog has the version of the package on top and four buckets', checkChangelog],
  [
    'every documented command is run by the build, a script or a test',
    (tree) => checkDocumentedCommands(tree, COMMANDS_WITH_TESTS),
  ],
  [
    'the tables of docs/ are what the code says',
    (tree) => TABLE_PAGES.flatMap((page) => checkTablePage(tree, page)),
  ],
  ['alerts in the docs ask for metrics that exist', (tree) => checkAlerts(tree, METRICS)],
  ['each alert has a row that says what to do', checkAlertRows],
  [
    'ARCHITECTURE.md and docs/decisions/ show rooms, dependencies and paths as they are',
    (tree) => checkArchitecturePage(tree, ROWS),
  ],
]

test.each(RULES)('%s', (_, rule) => {
  expect(rule(files).map(describeViolation)).toEqual([])
})
