import { join } from 'node:path'
import { filesThatAChatEnters } from './chat-files.ts'
import { measureHouse } from './house.ts'
import { readSourceTree } from './source-tree.ts'

// `npm run house`: the size and the shape of the code, as CONTRIBUTING.md explains them.
const tree = await readSourceTree(join(import.meta.dirname, '..'))
const house = measureHouse(tree)
const chat = await filesThatAChatEnters()
const figures: readonly (readonly [string, number | readonly string[]])[] = [
  ['files', house.files],
  ['lines', house.lines],
  ['median file, lines', house.medianLines],
  ['files over 400 lines', house.filesOver400Lines],
  ['exports a 1,000 lines', house.exportsPer1000Lines],
  ['interfaces that are used once', house.interfacesUsedOnce],
  ['files with one importer', house.oneImporter],
  ['of them under 60 lines', house.shortOneImporter],
  ['files that a streamed chat enters', chat],
  ['files that hand on tokens_per_minute', house.filesOfASetting],
  ['files of the ledger that know purchases', house.filesOfARow],
  ['paths that the page writes by hand', house.pathsOfThePage],
  ...Object.entries(house.linesBeside).map(([place, lines]) => [`${place}, lines`, lines] as const),
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
