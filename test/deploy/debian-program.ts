import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const DOWNLOAD_TIMEOUT_MS = 1_200_000

declare module 'vitest' {
  interface ProvidedContext {
    /** The package whose program is tried, and where that is. */
    programName: string
    program: string
  }
}

/** A program as Debian has it. */
export interface DebianProgram {
  /** The name of its package. */
  readonly name: string
  /** Its path in the package. */
  readonly program: string
  /** The arguments that make it print its version. */
  readonly versionFlag: string
}

/** Whether a program can be run here: where it is, or why it can't be. */
type Unpacked =
  | { readonly kind: 'unpacked'; readonly program: string }
  | { readonly kind: 'notUnpacked'; readonly reason: string }

/** By position: downloads a package of Debian's into an empty folder, and unpacks it there. Never throws. */
export async function unpackProgram(
  { name, program, versionFlag }: DebianProgram,
  folder: string,
): Promise<Unpacked> {
  try {
    await run('apt-get', ['download', name], { cwd: folder, timeout: DOWNLOAD_TIMEOUT_MS })
    const file = readdirSync(folder).find((each) => each.endsWith('.deb'))
    if (file === undefined) return { kind: 'notUnpacked', reason: 'apt-get left no package' }
    await run('dpkg-deb', ['--extract', join(folder, file), folder])
    const unpacked = join(folder, program)
    // Its libraries are the system's own: one that lacks them says so here.
    await run(unpacked, [versionFlag])
    return { kind: 'unpacked', program: unpacked }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { kind: 'notUnpacked', reason: message.split('\n').slice(0, 2).join(' ') }
  }
}
