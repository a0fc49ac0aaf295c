import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A command-line coding agent as the npm registry has it. */
export interface Agent {
  /** Its tests are `<name>.agent.test.ts`, and `<name>.<subject>.agent.test.ts`. */
  readonly name: string
  readonly packageName: string
  readonly version: string
  /** The script inside its package that starts it, without any script of its installation having run. */
  readonly script: string
}

/** The agents that are tested, one of each family, at the versions that docs/clients.md names. */
export const AGENTS: readonly Agent[] = [
  {
    name: 'claude-code',
    packageName: '@anthropic-ai/claude-code',
    version: '2.1.332',
    script: 'cli-wrapper.cjs',
  },
  { name: 'codex', packageName: '@openai/codex', version: '0.171.0', script: 'bin/codex.js' },
]

/** Whether an agent can be run here: where it starts, or why it can't be. */
type Installation =
  | { readonly kind: 'installed'; readonly program: string }
  | { readonly kind: 'notInstalled'; readonly reason: string }

interface InstallInput {
  /** An empty folder, for this agent alone. */
  readonly folder: string
  /** Default: the registry that npm is set up with. */
  readonly registry?: string
}

const INSTALL_TIMEOUT_MS = 1_200_000
const run = promisify(execFile)

/** Installs an agent with npm, into a folder of its own, and sees that it starts. Never throws. */
export async function installAgent(agent: Agent, input: InstallInput): Promise<Installation> {
  const { folder, registry } = input
  const program = join(folder, 'node_modules', agent.packageName, agent.script)
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const flags = [
    // The cause of a failure is read from its output, so its log level must not depend on the npm that runs this.
    '--loglevel=error',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--fetch-retries=1',
    '--fetch-retry-mintimeout=500',
  ]
  if (registry !== undefined) flags.push(`--registry=${registry}`)
  const wanted = `${agent.packageName}@${agent.version}`
  try {
    await run('npm', ['install', '--prefix', folder, ...flags, wanted], {
      cwd: folder,
      timeout: INSTALL_TIMEOUT_MS,
    })
    const { stdout } = await run(process.execPath, [program, '--version'])
    if (stdout.includes(agent.version)) return { kind: 'installed', program }
    return { kind: 'notInstalled', reason: `it says that it is ${stdout.trim()}` }
  } catch (error) {
    return { kind: 'notInstalled', reason: reasonOf(error) }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('killed' in error && error.killed === true) {
    return `npm was not done within ${INSTALL_TIMEOUT_MS / 1000} seconds`
  }
  const [, code] = /^npm error code (\S+)$/m.exec(error.message) ?? []
  return code === undefined ? (error.message.split('\n')[1] ?? error.message) : `npm says ${code}`
}
