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
const cycles = (groups: readonly (readonly string[])[]) => groups.map((group) => group.join(' '))
const figures: readonly (readonly [string, number | readonly string[]])[] = [
  ['files', house.files],
  ['lines', house.lines],
  ['median file, lines', house.medianLines],
  ['files over 400 lines', shape.filesOver400Lines],
  ['exports a 1,000 lines', house.exportsPer1000Lines],
  ['exports that no other file imports', house.exportsWithoutImporter],
  ['interfaces that are used once', house.interfacesUsedOnce],
  ['runs of six or more lines that stand twice', house.duplicates],
  ['files with one importer', shape.oneImporter],
  ['of them under 60 lines', shape.shortOneImporter],
  ['import cycles at run time', cycles(shape.cycles)],
  ['import cycles with types', cycles(shape.cyclesWithTypes)],
  ['longest function of the server, lines', shape.longestFunction.server],
  ['longest function of the page, lines', shape.longestFunction.page],
  ['files that a streamed chat enters', chat],
  ['files that hand on tokens_per_minute', shape.filesOfASetting],
  ['files of the ledger that know purchases', shape.filesOfARow],
  ['paths that the page writes by hand', shape.pathsOfThePage],
  ...Object.entries(shape.linesBeside).map(([place, lines]) => [`${place}, lines`, lines] as const),
]
for (const [name, figure] of figures) {
  const count = typeof figure === 'number' ? figure : figure.length
  console.log(`${name.padEnd(44)}${count.toLocaleString('en')}`)
}
console.log('')
for (const [room, { files, lines }] of Object.entries(house.rooms)) {
  console.log(`${`src/${room}`.padEnd(44)}${files} files, ${lines.toLocaleString('en')} lines`)
}
for (const [name, places] of process.argv.includes('--list') ? figures : []) {
  if (typeof places === 'number') continue
  console.log(`\n${name}:`)
  for (const place of places) console.log(`  ${place}`)
}
