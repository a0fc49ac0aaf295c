import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { CHECKS } from '../run.ts'

const BOOKS = join(import.meta.dirname, '..')
const MODULES = join(BOOKS, '..', 'node_modules')
const folder = mkdtempSync(join(tmpdir(), 'books-package-'))
const installed = join(folder, 'node_modules', manifest.name)
afterAll(() => rmSync(folder, { recursive: true }))

/** Packs what npm would, compiled beside the checkout, and installs it where nothing else is but `yaml`. */
beforeAll(() => {
  const staged = join(folder, 'staged')
  const compiler = join(MODULES, '.bin', 'tsc')
  execFileSync(compiler, ['--project', BOOKS, '--outDir', join(staged, 'dist')])
  for (const name of ['package.json', 'README.md', ...manifest.files])
    if (name !== 'dist') cpSync(join(BOOKS, name), join(staged, name), { recursive: true })
  const packed = execFileSync('npm', ['pack', '--silent', '--ignore-scripts'], { cwd: staged })
  mkdirSync(installed, { recursive: true })
  const file = join(staged, packed.toString().trim())
  execFileSync('tar', ['-xzf', file, '--strip-components=1', '-C', installed])
  symlinkSync(join(MODULES, 'yaml'), join(folder, 'node_modules', 'yaml'))
})

/** The paths below a folder. */
function pathsIn(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
}

test('the installed package takes a megabyte of the disk at most', () => {
  const blocks = pathsIn(installed).map((path) => statSync(join(installed, path)).blocks)
  expect(blocks.reduce((sum, count) => sum + 512 * count, 0)).toBeLessThanOrEqual(1_000_000)
})

test('each program of the package is made from a file of the suite', () => {
  const sources = new Set(pathsIn(BOOKS))
  const programs = pathsIn(installed).filter((path) => path.endsWith('.js'))
  expect(programs.length).toBeGreaterThan(20)
  const isOurs = (path: string) =>
    sources.has(path.replace(/^dist\/(.*)\.js$/, '$1.ts')) && !path.includes('test')
  expect(programs.filter((path) => !isOurs(path))).toEqual([])
})

test('the package lists its checks with nothing else installed', () => {
  const args = [join(installed, 'bin', 'gateway-books.js'), 'checks']
  const lines = execFileSync(process.execPath, args, { cwd: folder }).toString().trim().split('\n')
  expect(lines).toHaveLength(CHECKS.length)
})
