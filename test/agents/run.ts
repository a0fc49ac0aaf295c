import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startVitest } from 'vitest/node'
import { HANG_LIMITS } from '../hang-limits.ts'
import { LOADED_BY_NODE } from '../loaded-by-node.ts'
import { AGENTS, type Agent, installAgent } from './install.ts'

/**
 * `npm run test:agents`: installs each agent and runs its tests. Says of each what became of it; one
 * that can't be installed here is not run, and is no failure. With `-- --sessions` Claude Code's sessions have sixty
 * turns, as in docs/decisions/text-token-bound.md, which takes one to ten minutes.
 */

const HAS_LONG_SESSIONS = process.argv.includes('--sessions')

const verdicts: string[] = []
for (const agent of AGENTS)
  verdicts.push(`${agent.name} ${agent.version}: ${await verdictOn(agent)}`)
for (const verdict of verdicts) console.log(verdict)
if (verdicts.some((verdict) => verdict.endsWith('failed'))) process.exitCode = 1

async function verdictOn(agent: Agent): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-agent-'))
  try {
    const installation = await installAgent(agent, { folder })
    if (installation.kind === 'notInstalled') {
      return `not run: could not install: ${installation.reason}`
    }
    const { state } = await startVitest([], {
      config: false,
      watch: false,
      include: [`test/agents/${agent.name}{,.*}.agent.test.ts`],
      provide: { agentProgram: installation.program, hasLongSessions: HAS_LONG_SESSIONS },
      ...HANG_LIMITS,
      ...LOADED_BY_NODE,
    })
    const modules = state.getTestModules()
    const isPassed = modules.length > 0 && modules.every((module) => module.ok())
    return isPassed && state.getUnhandledErrors().length === 0 ? 'passed' : 'failed'
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
