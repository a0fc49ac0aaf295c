import { join } from 'node:path'
import { measureHouse } from './house.ts'
import { readSourceTree } from './source-tree.ts'

// `npm run house`: the size and the shape of src/, as CONTRIBUTING.md explains them.
const house = measureHouse(await readSourceTree(join(import.meta.dirname, '..')))
const rows: [string, string | number][] = [
  ['files', house.files],
  ['lines', house.lines],
  ['median file, lines', house.medianLines],
  ['exports a 1,000 lines', house.exportsPer1000Lines],
  ['exports that no other file imports', house.exportsWithoutImporter.length],
  ['interfaces that are used once', house.interfacesUsedOnce.length],
  ['runs of six or more lines that stand twice', house.duplicates.length],
]
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
  ] as const) {
    console.log(`\n${title}:`)
    for (const place of places) console.log(`  ${place}`)
  }
}
