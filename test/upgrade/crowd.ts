import { chatAt } from '../tollgate-process.ts'
/** The provider's cost of each request, with the fee. */
export const CHARGE_MICROS = 1_050

/** Clients that send one request after another, to whichever servers there are. */
interface Crowd {
  /** The charge of every whole answer that reported its cost, in order. */
  readonly requestIds: readonly string[]
  /** Resolves after so many more answers of the servers of now. */
  answered(answers: number): Promise<void>
  /** From now on requests go to these. */
  moveTo(addresses: readonly string[]): void
  /** Resolves when the last client has its last answer. Rejects if an answer was another than one of a server that stops. */
  leave(): Promise<void>
}

const CLIENTS = 8

/** Starts the clients. Each uses one of the keys. */
export function startCrowd(first: readonly string[], apiKeys: readonly string[]): Crowd {
  const requestIds: string[] = []
  const waiting: { readonly answers: number; readonly resolve: () => void }[] = []
  let addresses = first
  let moved = Promise.withResolvers<void>()
  let isLeaving = false

  const runClient = async (client: number): Promise<void> => {
    for (let place = client; !isLeaving; place++) {
      const asked = addresses
      const apiKey = apiKeys[client % apiKeys.length] ?? ''
      const heard = await ask(`${asked[place % asked.length]}`, apiKey)
      if (heard === null) {
        // That server stops: its other clients stay, and this one tries the next until all have stopped.
        if (asked === addresses && asked.length === 1) await moved.promise
        continue
      }
      requestIds.push(heard)
      for (const each of waiting) if (requestIds.length >= each.answers) each.resolve()
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, client) => runClient(client)))
  return {
    requestIds,
    async answered(answers) {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.push({ answers: requestIds.length + answers, resolve })
      await Promise.race([promise, clients])
    },
    moveTo(next) {
      addresses = next
      moved.resolve()
      moved = Promise.withResolvers<void>()
    },
    async leave() {
      isLeaving = true
      moved.resolve()
      await clients
    },
  }
}

/** The id of a request that was answered whole; null: the server stops or has stopped. */
async function ask(address: string, apiKey: string): Promise<string | null> {
  let answer: Response
  let text: string
  try {
    answer = await chatAt({ address }, apiKey, { max_tokens: 16 })
    text = await answer.text()
  } catch {
    return null
  }
  if (answer.status === 503) return null
  const cost = answer.headers.get('x-service-cost')
  if (answer.status !== 200 || cost !== String(CHARGE_MICROS)) {
    throw new Error(`answered ${answer.status}, at a cost of ${cost}: ${text}`)
  }
  return answer.headers.get('x-request-id') ?? ''
}
