import { workerData } from 'node:worker_threads'
import { serveThread } from '../sqlite/store-thread.ts'
import { StoreRefused } from '../store-failure.ts'

const closings: Int32Array = workerData
let runners = 0

/** A thread whose jobs say their own result. */
serveThread<string, string>(() => {
  runners++
  if (runners === 1) throw new Error('not open yet')
  return {
    run(job) {
      if (job === 'die') process.exit(1)
      if (job === 'hang') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      if (job === 'refuse') throw new StoreRefused('refused')
      if (job === 'fail') throw Object.assign(new Error('disk full'), { errcode: 13 })
      return `${job} answered`
    },
    close() {
      Atomics.add(closings, 0, 1)
    },
  }
})
