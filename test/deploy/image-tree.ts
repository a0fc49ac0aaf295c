import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { filesSent, type Instruction, isIn, lastStage, ROOT, readCopy } from './image-recipe.ts'

/**
 * Lays out below a folder what the image has: the files that the Dockerfile copies, the packages that
 * `npm install --omit=dev` leaves, and this Node. Nothing of it can be written.
 */
export function layOutImage(recipe: readonly Instruction[], folder: string): void {
  const sent = filesSent()
  for (const instruction of lastStage(recipe)) {
    if (instruction.name !== 'COPY') continue
    const { stage, sources, to } = readCopy(instruction)
    if (stage !== null) continue
    for (const path of sent.filter((each) => isIn(each, sources))) {
      const [source = ''] = sources
      // A folder's files go into the place, one file becomes it, several go below it.
      const below = to.endsWith('/') ? path : path.slice(source.length)
      place(join(ROOT, path), join(folder, to, below))
    }
  }
  for (const path of packagesToRun()) {
    cpSync(join(ROOT, path), join(folder, 'opt/tollgate', path), { recursive: true })
  }
  place(process.execPath, join(folder, 'usr/local/bin/node'))
  for (const path of globSync('**', { cwd: folder, withFileTypes: true })) {
    chmodSync(
      join(path.parentPath, path.name),
      path.isDirectory() || isProgram(path.name) ? 0o555 : 0o444,
    )
  }
}

function isProgram(name: string): boolean {
  return name === 'node' || name === 'tollgate.js'
}

function place(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
}

/**
 * The packages that are not only development dependencies, as the lock file marks them. Of the optional ones npm
 * installs those for this platform.
 */
function packagesToRun(): readonly string[] {
  const lock: { packages: Record<string, { dev?: boolean; optional?: boolean }> } = JSON.parse(
    readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
  )
  return Object.entries(lock.packages)
    .filter(([path, { dev = false }]) => path.startsWith('node_modules/') && !dev)
    .filter(([path, { optional = false }]) => !optional || existsSync(join(ROOT, path)))
    .map(([path]) => path)
}
