import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { Management, textOf } from './management.ts'

const run = promisify(execFile)
const require = createRequire(import.meta.url)
const CLI = require.resolve('@redocly/cli/bin/cli.js')

// Retired operations are always refused, so that they have no success to document.
const SKIPPED = ['--skip-rule', 'operation-2xx-response']

const admin = Management.ofFile({ mode: 'simulator' })

/** The linter's findings in a document, each as its rule and its place. */
async function remarksOn(document: unknown): Promise<string[]> {
  const file = join(admin.world.folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(document))
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const options = ['lint', file, '--format', 'json', '--max-problems', '1000', ...SKIPPED]
  const linted = run(process.execPath, [CLI, ...options], { env })
  // It ends with 1 if there are errors, and prints them too.
  const { stdout } = await linted.catch((error: { readonly stdout: string }) => error)
  const { problems } = JSON.parse(stdout)
  if (!Array.isArray(problems)) throw new Error(stdout)
  return problems.map((each) => `${textOf(each, 'ruleId')}: ${textOf(each, 'message')}`)
}

test('the linter of OpenAPI documents has neither an error nor a warning for /openapi.json', async () => {
  const { json } = await admin.get('/openapi.json', null)
  expect(await remarksOn(json)).toEqual([])
})

test('the linter notices an operation without a name', async () => {
  const { json } = await admin.get('/openapi.json', null)
  const text = JSON.stringify(json).replace('"operationId":"getHealth",', '')
  expect(await remarksOn(JSON.parse(text))).toEqual([
    'operation-operationId: Operation object should contain `operationId` field.',
  ])
})
