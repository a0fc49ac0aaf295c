import { openSync } from 'node:fs'
import { pino } from 'pino'
import { readConfig } from '../config.ts'
import { oneUpstream } from '../configured-upstreams.ts'
import { WorkerProcesses } from '../worker-processes.ts'

// Starts workers in a process that has no file descriptor left, and prints how that ends.

const workers = new WorkerProcesses({
  entry: new URL('./scripted-worker.ts', import.meta.url),
  count: 1,
  startWith: {
    config: readConfig({}),
    configured: oneUpstream(readConfig({}), { mode: 'simulator', baseUrl: '', apiKey: null }),
  },
  log: pino({ enabled: false }),
  writeLog: () => {},
})
try {
  for (;;) openSync('/dev/null', 'r')
} catch {
  const how = await workers.start().then(
    () => 'started',
    (error: unknown) => String(error),
  )
  await workers.stop()
  console.log(how)
}
