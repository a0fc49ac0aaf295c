import { join } from 'node:path'
import { filesThatAChatEnters } from './chat-files.ts'
import { measureHouse } from './house.ts'
import { measureShape } from './house-shape.ts'
import { readSourceTree } from './source-tree.ts'

// `npm run house`: the size and the shape of the code, as CONTRIBUTING.md explains them.
const tree = await readSourceTree(join(import.meta.dirname, '..'))
const house = measureHouse(tree)
const shape = measureShape(tree)
const chat = await filesThatAChatEnters()
const sizes = (groups: readonly (readonly string[])[]): string =>
  groups.length === 0
    ? '0'
    : `${groups.length} (of ${groups.map(({ length }) => length).join(', ')})`
const rows: [string, string | number][] = [
  ['files', house.files],
  ['lines', house.lines],
  ['median file, lines', house.medianLines],
  ['files over 400 lines', shape.filesOver400Lines],
  ['exports a 1,000 lines', house.exportsPer1000Lines],
  ['exports that no other file imports', house.exportsWithoutImporter.length],
  ['interfaces that are used once', house.interfacesUsedOnce.length],
  ['runs of six or more lines that stand twice', house.duplicates.length],
  ['files with one importer', shape.oneImporter.length],
  ['of them under 60 lines', shape.shortOneImporter.length],
  ['import cycles at run time', sizes(shape.cycles)],
  ['import cycles with types', sizes(shape.cyclesWithTypes)],
  ['longest function of the server, lines', shape.longestFunction.server],
  ['longest function of the page, lines', shape.longestFunction.page],
  ['files that a streamed chat enters', chat.length],
  ['files that hand on tokens_per_minute', shape.filesOfASetting.length],
  ['files of the ledger that know purchases', shape.filesOfARow.length],
  ['paths that the page writes by hand', shape.pathsOfThePage],
]
for (const [place, lines] of Object.entries(shape.linesBeside))
  rows.push([`${place}, lines`, lines])
for (const [name, figure] of rows) console.log(`${name.padEnd(44)}${figure.toLocaleString('en')}`)
console.log('')
for (const [room, { files, lines }] of Object.entries(house.rooms)) {
  console.log(`${`src/${room}`.padEnd(44)}${files} files, ${lines.toLocaleString('en')} lines`)
}
if (process.argv.includes('--list')) {
  for (const [title, places] of [
    ['exports that no other file imports', house.exportsWithoutImporter],
    ['interfaces that are used once', house.interfacesUsedOnce],
    ['runs of lines that stand twice', house.duplicates],
    ['files with one importer', shape.oneImporter],
    ['import cycles with types', shape.cyclesWithTypes.map((group) => group.join(' '))],
    ['files that a streamed chat enters', chat],
    ['files that hand on tokens_per_minute', shape.filesOfASetting],
    ['files of the ledger that know purchases', shape.filesOfARow],
  ] as const) {
    console.log(`\n${title}:`)
    for (const place of places) console.log(`  ${place}`)
  }
}
