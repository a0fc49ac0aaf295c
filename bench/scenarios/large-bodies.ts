import type { Scenario } from '../bench.ts'
import { BusyThread } from '../busy-thread.ts'
import { closedLoop, type Workload } from '../load.ts'
import { type Measure, measuresOf } from '../measure.ts'
import { settled } from '../rounds.ts'
import type { Target } from '../target.ts'
import { chatWorkload, manyMessagesBody, pictureBody, textBody, workloadOf } from '../workloads.ts'

const MB = 1024 * 1024
const CHAT_BYTES = 30 * MB
const PICTURE_BYTES = 60 * MB
const BLOCK_MS_MAX = 250
const MEMORY_RATIO_MAX = 4

interface LargeBody {
  readonly name: string
  readonly workload: Workload
  readonly blockMsMax: number
}

/** One large body at a time, and its effect on all other requests. */
export const LARGE_BODIES: Scenario = {
  name: 'large-bodies',
  summary: 'bodies of 30 and 60 MB: how long others wait meanwhile, and the memory they take',
  runs: 'always',
  async run(bench) {
    const simulator = await bench.simulator()
    const small = await chatWorkload(simulator, textBody())
    const chat = (body: Buffer): Promise<Workload> => chatWorkload(simulator, body)
    const picture = { path: '/v1/images', body: pictureBody(PICTURE_BYTES) }
    const bodies: LargeBody[] = [
      {
        name: '30 MB in one message',
        workload: await chat(textBody(CHAT_BYTES)),
        blockMsMax: BLOCK_MS_MAX,
      },
      {
        name: '30 MB in 30,000 messages',
        workload: await chat(manyMessagesBody(CHAT_BYTES)),
        blockMsMax: BLOCK_MS_MAX,
      },
      {
        name: '60 MB of picture',
        workload: await workloadOf(simulator, picture),
        blockMsMax: 2 * BLOCK_MS_MAX,
      },
    ]
    const measures: Measure[] = []
    // A quick run looks for errors, which all of them would make.
    for (const body of bench.flags.quick ? bodies.slice(0, 1) : bodies) {
      // Each on a gateway that has had no other, so that its memory is its own.
      const gateway = await bench.startGateway({ name: `tollgate, ${body.name}` })
      await closedLoop({ target: gateway, workload: small, requests: 200, clients: 4 })
      await settled(gateway)
      const blocks = await sendEach(
        { gateway, bare: await bench.bareProxy() },
        { workload: body.workload, rounds: bench.scaled({ full: 5, quick: 1 }) },
      )
      await bench.end(gateway)
      measures.push(...measuresOfBody(body, blocks))
    }
    return measures
  },
}

interface Blocks {
  /** One of each round. */
  readonly blocksMs: readonly number[]
  readonly bareBlocksMs: readonly number[]
  /** From before the first body to the most that there was until its answer. */
  readonly addedBytes: number
  /** From before the first body to the most until the last answer: garbage of earlier bodies may still be there. */
  readonly addedInARowBytes: number
}

async function sendEach(
  { gateway, bare }: { readonly gateway: Target; readonly bare: Target },
  { workload, rounds }: { readonly workload: Workload; readonly rounds: number },
): Promise<Blocks> {
  const [blocksMs, bareBlocksMs]: [number[], number[]] = [[], []]
  const restBytes = gateway.tree.residentBytes()
  gateway.tree.resetPeak()
  const addedBytes = (): number => gateway.tree.residentPeakBytes() - restBytes
  let addedFirstBytes = 0
  for (let count = 0; count <= rounds; count++) {
    const blockMs = await longestWaitMs(gateway, workload)
    const bareBlockMs = await longestWaitMs(bare, workload)
    // In the first, code is still being compiled.
    if (count === 0) {
      addedFirstBytes = addedBytes()
      continue
    }
    blocksMs.push(blockMs)
    bareBlocksMs.push(bareBlockMs)
  }
  return { blocksMs, bareBlocksMs, addedBytes: addedFirstBytes, addedInARowBytes: addedBytes() }
}

/** The longest time of a small request while a large one runs. */
async function longestWaitMs(target: Target, workload: Workload): Promise<number> {
  const prober = await BusyThread.probe(target)
  await closedLoop({ target, workload, requests: 1, clients: 1 })
  const longestMs = await prober.stop()
  await settled(target)
  return longestMs
}

function measuresOfBody({ name, workload, blockMsMax }: LargeBody, blocks: Blocks): Measure[] {
  const { blocksMs, bareBlocksMs, addedBytes, addedInARowBytes } = blocks
  const ofTheBody = (bytes: number): number[] => [bytes / workload.body.length]
  return measuresOf([
    [`${name}: others wait at most`, 'ms', blocksMs, blockMsMax],
    [`${name}: the same at the bare proxy`, 'ms', bareBlocksMs],
    [`${name}: memory added, of the body`, 'x', ofTheBody(addedBytes), MEMORY_RATIO_MAX],
    [`${name}: the same of ${blocksMs.length + 1} in a row`, 'x', ofTheBody(addedInARowBytes)],
  ])
}
