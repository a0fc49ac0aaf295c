import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { FromWorker, ToWorker, WorkerStart } from '../worker-processes.ts'

// A worker process that serves no client. What it does is the name of the first file of a folder, whose address
// stands in the place of the provider's: `1-crashes`. Without one it does everything well.
const tell = (message: FromWorker): void => void process.send?.(message)

let script = 'well'

process.on('message', (message: ToWorker) => {
  if (message.kind === 'start') start(message)
  if (message.kind === 'look') look()
  if (message.kind === 'stop') process.exit(script === 'ends-badly' ? 3 : 0)
})

/** The first look comes when the parent knows that it serves. */
function look(): void {
  if (script === 'crashes') process.exit(7)
  if (script === 'stands-still') for (;;);
  tell({ kind: 'seen', faults: [] })
}

function start({ configured }: WorkerStart): void {
  script = nextScript(configured.upstreams[0].baseUrl)
  if (script === 'never-serves') {
    tell({ kind: 'failed', message: 'it can not serve' })
    process.exitCode = 1
    process.channel?.unref()
    return
  }
  process.stdout.write(`{"script":"${script}"}\n{"half":`)
  tell({ kind: 'serving', address: 'http://127.0.0.1:1' })
}

/** Takes the first script for this process alone. */
function nextScript(folder: string): string {
  for (const name of readdirSync(folder).toSorted()) {
    if (name.startsWith('taken-')) continue
    try {
      renameSync(join(folder, name), join(folder, `taken-${name}`))
      return name.slice('1-'.length)
    } catch {
      // Another worker has just taken it.
    }
  }
  return 'well'
}
