import { renameSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/*
 * Loaded before a gateway whose memory is looked at (`--expose-gc --import`): at SIGUSR2 it collects
 * garbage and writes the remaining use into the file that BENCH_HEAP_FILE names.
 */
const heapFile = process.env['BENCH_HEAP_FILE']
let collections = 0

if (isMainThread && heapFile !== undefined) {
  process.on('SIGUSR2', () => {
    // A second pass frees the memory that finalizers of the first one released.
    global.gc?.()
    global.gc?.()
    collections += 1
    const { heapUsed, external } = process.memoryUsage()
    writeFileSync(
      `${heapFile}.new`,
      JSON.stringify({ collections, heapBytes: heapUsed + external }),
    )
    // Whole, or not there yet.
    renameSync(`${heapFile}.new`, heapFile)
  })
}
