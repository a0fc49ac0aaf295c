import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-run-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface BenchExit {
  readonly code: number | null
  readonly out: string
  readonly notes: string
}

async function bench(...args: readonly string[]): Promise<BenchExit> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args])
  let [out, notes] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += String(chunk)
  })
  child.stderr.on('data', (chunk) => {
    notes += String(chunk)
  })
  await once(child, 'close')
  return { code: child.exitCode, out, notes }
}

const arrivals = (rounds: 1 | 2, resultFile: string) => [
  ...['arrivals', '--quick', '--rounds', String(rounds)],
  ...['--store-folder', folder, '--result', resultFile],
]

test('a run whose answers are right and whose ledger is exact ends with 0 and a result', async () => {
  const resultFile = join(folder, 'right.json')
  const { code, out, notes } = await bench(...arrivals(1, resultFile))
  expect(notes).not.toContain('FAILED')
  expect(code).toBe(0)
  expect(out).toContain('| CPU a request over the bare proxy’s ')
  const { failures, sections } = JSON.parse(readFileSync(resultFile, 'utf8'))
  expect(failures).toEqual([])
  expect(sections[0].measures.map(({ values }: { values: number[] }) => values.length)).toEqual(
    sections[0].measures.map(() => 1),
  )
})

test('a run in which requests are refused ends with 1, says so, and gives no figures', async () => {
  const resultFile = join(folder, 'wrong.json')
  const few = ['--setting', 'TOLLGATE_REQUESTS_PER_MINUTE=1']
  // In the second, the same keys ask again.
  const { code, out, notes } = await bench(...arrivals(2, resultFile), ...few)
  expect(notes).toContain('FAILED  tollgate: answered 429')
  expect(code).toBe(1)
  expect(out).not.toContain('| CPU a request')
  expect(JSON.parse(readFileSync(resultFile, 'utf8'))).toMatchObject({ sections: [] })
})

test('an unknown argument ends with 2, and the help with 0', async () => {
  expect(await bench('speed')).toMatchObject({ code: 2, out: '' })
  expect((await bench('--help')).code).toBe(0)
})
