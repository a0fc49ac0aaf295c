import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'

/** How much of the page a browser has to load, from the build. */

const BUILD = join(import.meta.dirname, '..', '..', 'build', 'web')
const ASSETS = join(BUILD, 'assets')
const KB = 1024
const FIRST_JS_BYTES_MAX = 150 * KB
const ROUTE_JS_BYTES_MAX = 30 * KB
const CSS_BYTES_MAX = 15 * KB

const read = (path: string) => readFileSync(path, 'utf8')
const gzippedBytes = (path: string) => gzipSync(readFileSync(path), { level: 9 }).length
const files = readdirSync(ASSETS)
const scripts = files.filter((name) => name.endsWith('.js'))

/** A script and all that it can't run without. */
function withImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  const imports = read(join(ASSETS, name)).matchAll(
    /(?:\bfrom|\bimport)\s*["']\.\/([^"']+\.js)["']/g,
  )
  for (const [, imported = ''] of imports) withImports(imported, found)
  return found
}

const index = read(join(BUILD, 'index.html'))
const [entry = ''] = /(?<=assets\/)[^"]+\.js/.exec(index) ?? []
const first = withImports(entry)
const sum = (names: Iterable<string>) =>
  [...names].reduce((total, name) => total + gzippedBytes(join(ASSETS, name)), 0)

describe('the build', () => {
  test('has one first script, of at most 150 KB, gzipped', () => {
    expect(first.size).toBe(1)
    expect(sum(first)).toBeLessThanOrEqual(FIRST_JS_BYTES_MAX)
  })

  test('has at most 30 KB for each route, in addition to the first script', () => {
    const rest = scripts.filter((name) => !first.has(name))
    expect(rest.length).toBeGreaterThan(3)
    for (const name of rest) {
      const added = [...withImports(name)].filter((one) => !first.has(one))
      expect(sum(added), name).toBeLessThanOrEqual(ROUTE_JS_BYTES_MAX)
    }
  })

  test('has at most 15 KB of styles, gzipped', () => {
    const styles = files.filter((name) => name.endsWith('.css'))
    expect(styles.length).toBeGreaterThan(0)
    expect(sum(styles)).toBeLessThanOrEqual(CSS_BYTES_MAX)
  })

  test('has no inline script or style, which the policy of the page would refuse', () => {
    expect(index).toContain('<html lang="en">')
    expect(index).not.toMatch(/<style|style=|<script(?![^>]*\bsrc=)/)
    expect(index).not.toMatch(/\bon[a-z]+=/)
  })

  test('loads nothing from another host', () => {
    expect(index).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
    const styles = files.filter((one) => one.endsWith('.css'))
    expect(styles).not.toEqual([])
    for (const name of styles) {
      expect(read(join(ASSETS, name))).not.toMatch(/url\((?!["']?(?:\.|\/app\/))/)
    }
  })

  test('has a compressed copy of every text file', () => {
    for (const name of files.filter((one) => /\.(?:js|css)$/.test(one))) {
      expect(files).toContain(`${name}.br`)
      expect(files).toContain(`${name}.gz`)
    }
  })
})
