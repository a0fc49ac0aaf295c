import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, 'page')

const style = read('page.css')
// One script: the module that draws, with what it imports in the place of the import.
const script = read('draw.js').replace(/^import .*\n/, () =>
  read('render.js').replace('export ', ''),
)

/** The reference: a page that draws `/openapi.json` of the address that it was asked at. */
export const REFERENCE_PAGE = read('page.html')
  .replace('<style>', () => `<style>${style}`)
  .replace('<script type="module">', () => `<script type="module">${script}`)

/** What a browser may do with the reference: run its script, show its style, and ask its own address. */
export const REFERENCE_POLICY = [
  "default-src 'none'",
  `script-src '${hashOf(script)}'`,
  `style-src '${hashOf(style)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function read(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8')
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
