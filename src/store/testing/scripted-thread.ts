import { serveThread } from '../sqlite/store-thread.ts'
import { StoreRefused } from '../store-failure.ts'

// Each thread has a copy of its own.
const tried = new WeakSet<Int32Array>()

/** A thread whose jobs say their own result. */
serveThread<string, string>((startWith) => {
  const closings = startWith as Int32Array
  if (!tried.has(closings)) {
    tried.add(closings)
    throw new Error('not open yet')
  }
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
