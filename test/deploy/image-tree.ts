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
 * its `npm install` leaves, and this Node. Nothing of it can be written.
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
  for (const path of packagesToRun(recipe)) {
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
 * The packages that the first stage leaves of those in the lock file, as npm marks them there. `devOptional` is
 * what development needs and a package to run could use: it stays unless both kinds are left out.
 */
export function packagesToRun(recipe: readonly Instruction[]): readonly string[] {
  const install = recipe.find(({ name, rest }) => name === 'RUN' && rest.startsWith('npm install'))
  const omits = (kind: string): boolean => install?.rest.includes(`--omit=${kind}`) ?? false
  const lock: { packages: Record<string, Readonly<Record<string, unknown>>> } = JSON.parse(
    readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
  )
  return Object.entries(lock.packages)
    .filter(([path]) => path.startsWith('node_modules/'))
    .filter(([, { dev, optional, devOptional }]) => {
      if (dev === true && omits('dev')) return false
      if (optional === true && omits('optional')) return false
      return !(devOptional === true && omits('dev') && omits('optional'))
    })
    .filter(([path, { optional }]) => optional !== true || existsSync(join(ROOT, path)))
    .map(([path]) => path)
}
