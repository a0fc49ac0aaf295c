import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { listen } from '../../src/vocabulary/testing/listen.ts'
import { Anvil } from './anvil.ts'

/** How a node fails. */
type NodeMode =
  | {
      readonly kind:
        | 'honest'
        | 'down'
        | 'busy'
        | 'garbage'
        | 'otherChain'
        | 'dropsLogs'
        | 'noBatches'
    }
  /** It adds a log to every list. */
  | { readonly kind: 'forgesLogs'; readonly log: object }
  /** It does not have the blocks above one, and does not say so of its lists. */
  | { readonly kind: 'behind'; readonly block: number }
  /** It refuses lists of more blocks. */
  | { readonly kind: 'smallRange'; readonly blocks: number }

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: unknown
}

const blocksShape = z.object({ fromBlock: z.string(), toBlock: z.string() })

/** A node between a gateway and a chain, which a test lets fail in the ways that nodes do. */
export interface NodeBetween extends AsyncDisposable {
  readonly url: string
  mode: NodeMode
  /** How many HTTP requests it has had. */
  requests: number
}

/** A chain, and the two nodes of it that gateways ask. */
export class TwoNodes implements AsyncDisposable {
  readonly anvil: Anvil
  readonly one: NodeBetween
  readonly two: NodeBetween

  private constructor(anvil: Anvil, [one, two]: readonly [NodeBetween, NodeBetween]) {
    this.anvil = anvil
    this.one = one
    this.two = two
  }

  static async start(): Promise<TwoNodes> {
    const anvil = await Anvil.start()
    const start = () => startNodeBetween(anvil.url)
    return new TwoNodes(anvil, await Promise.all([start(), start()]))
  }

  beHonest(): void {
    this.one.mode = { kind: 'honest' }
    this.two.mode = { kind: 'honest' }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.one[Symbol.asyncDispose]()
    await this.two[Symbol.asyncDispose]()
    await this.anvil[Symbol.asyncDispose]()
  }
}

async function startNodeBetween(upstream: string): Promise<NodeBetween> {
  const server = createServer(async (request, response) => {
    node.requests++
    const body = await text(request)
    const { mode } = node
    if (mode.kind === 'down') return void request.socket.destroy()
    if (mode.kind === 'busy') return void response.writeHead(429).end('{}')
    if (mode.kind === 'garbage') return void response.end('<html>')
    const headers = { 'content-type': 'application/json' }
    const answered = await fetch(upstream, { method: 'POST', headers, body })
    const calls = [JSON.parse(body)].flat() as readonly Call[]
    const answers = [await answered.json()].flat() as readonly Answer[]
    const changed = answers.map((answer) => {
      const call = calls.find(({ id }) => id === answer.id)
      return call === undefined ? answer : changedAnswer(mode, call, answer)
    })
    response.writeHead(200, headers)
    const error = { code: -32_600, message: 'batches are not supported' }
    response.end(JSON.stringify(mode.kind === 'noBatches' ? { id: null, error } : changed))
  })
  const port = await listen(server)
  const node: NodeBetween = {
    url: `http://127.0.0.1:${port}/key-of-this-gateway`,
    mode: { kind: 'honest' },
    requests: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return node
}

/** By position: how the node fails, the question, and the honest answer. */
function changedAnswer(mode: NodeMode, { method, params }: Call, answer: Answer): Answer {
  const [first] = params
  switch (mode.kind) {
    case 'otherChain':
      return method === 'eth_chainId' ? { ...answer, result: '0x1' } : answer
    case 'dropsLogs':
      return method === 'eth_getLogs' ? { ...answer, result: [] } : answer
    case 'forgesLogs':
      return method === 'eth_getLogs'
        ? { ...answer, result: [...(answer.result as object[]), mode.log] }
        : answer
    case 'behind':
      if (method === 'eth_getBlockByNumber' && Number(first) > mode.block) {
        return { ...answer, result: null }
      }
      if (method !== 'eth_getLogs') return answer
      return {
        ...answer,
        result: (answer.result as { blockNumber: string }[]).filter(
          ({ blockNumber }) => Number(blockNumber) <= mode.block,
        ),
      }
    case 'smallRange': {
      if (method !== 'eth_getLogs') return answer
      const { fromBlock, toBlock } = blocksShape.parse(first)
      if (Number(toBlock) - Number(fromBlock) < mode.blocks) return answer
      return { id: answer.id, error: { code: -32_005, message: 'more than 10000 results' } }
    }
    default:
      return answer
  }
}
