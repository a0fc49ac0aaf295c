import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PICTURE_SIZE, PICTURES, picturePath } from './pictures.ts'
import { firstKey, type ServeProcess, serve, tollgate } from './tollgate-process.ts'

/** README's snippets, run as a person pastes them; only the address is this test's own. */

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')

let folder: string
let server: ServeProcess
let apiKey: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-readme-'))
  server = await serve({ folder })
  apiKey = firstKey(server)
})
afterAll(async () => {
  await server.stop('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
})

/** The first block of a language that contains a word, with the address of this test's server. */
function snippet(language: string, word: string): string {
  for (const [, block = ''] of README.matchAll(
    new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'),
  )) {
    if (block.includes(word)) return block.replaceAll('http://127.0.0.1:8787', server.address)
  }
  throw new Error(`README has no ${language} block with ${word}`)
}

test('README and the tour show every picture that `npm run picture` takes, with its size', () => {
  const { width, height } = PICTURE_SIZE
  const ofReadme = Object.entries(PICTURES).flatMap(([name, themes]) =>
    themes.length > 1 ? themes.map((theme) => picturePath(name, theme)) : [],
  )
  const named = [...README.matchAll(/(?:src|srcset)="([^"]+)"/g)].map(([, path]) => path)
  expect(named.toSorted()).toEqual(ofReadme.toSorted())
  expect(README).toContain(`width="${width}" height="${height}"`)
  const tour = readFileSync(join(ROOT, 'docs', 'tour.md'), 'utf8')
  const shown = [...tour.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path]) => `docs/${path}`)
  expect(shown).toEqual(Object.keys(PICTURES).map((name) => picturePath(name, 'light')))
  for (const path of new Set([...ofReadme, ...shown])) {
    const png = readFileSync(join(ROOT, path))
    expect(png.subarray(1, 4).toString()).toBe('PNG')
    // The first chunk of every PNG begins with its size.
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([width, height])
  }
})

test('the curl line of README answers, with its cost', async () => {
  const { stdout } = await run('sh', ['-c', snippet('sh', 'curl')], {
    env: { ...process.env, TOLLGATE_API_KEY: apiKey },
  })
  expect(stdout).toMatch(/^HTTP\/1\.1 200 /)
  expect(stdout).toMatch(/^x-service-cost: [1-9]\d*\r$/m)
})

test('the SDK snippet of README streams an answer', async () => {
  const { stdout } = await run(
    process.execPath,
    ['--input-type=module', '--eval', snippet('js', 'new OpenAI')],
    { cwd: ROOT, env: { ...process.env, TOLLGATE_API_KEY: apiKey } },
  )
  expect(stdout.length).toBeGreaterThan(0)
})

test('the file that README asks a reader to save is ignored by git, and so by Biome', () => {
  const [, name = ''] = /save this here as `([^`]+)`/.exec(README) ?? []
  expect(readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n')).toContain(`/${name}`)
})

test('the commands of README list requests, audit, and create an account with credit and a key', async () => {
  const commands = [...README.matchAll(/^npx tollgate (.+)$/gm)].map(([, line = '']) => line)
  expect(commands).toHaveLength(5)
  for (const command of commands) {
    const args = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, plain]) => quoted ?? plain ?? '',
    )
    const { code, notes } = await tollgate(args, { folder })
    expect(code, `${command}: ${notes}`).toBe(0)
  }
  const { out } = await tollgate(['account', 'show', 'Ada Lovelace'], { folder })
  expect(out).toContain('$25.00')
})
