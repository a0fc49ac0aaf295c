import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pageSays } from '../clients/page.ts'
import { AGENTS, installAgent } from './install.ts'

test('an agent that npm cannot get is not installed, and the reason is printed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-agent-'))
  const [agent] = AGENTS
  if (agent === undefined) throw new Error('there is no agent')
  // Nothing listens there.
  const installation = await installAgent(agent, { folder, registry: 'http://127.0.0.1:1' })
  expect(installation).toEqual({ kind: 'notInstalled', reason: 'npm says ECONNREFUSED' })
  rmSync(folder, { recursive: true })
})

test.each(AGENTS)('docs/clients.md names the version of $name that is run', ({ version }) => {
  expect(pageSays(`Run with version ${version}.`)).toBe(true)
})
