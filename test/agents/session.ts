import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import type { WrittenModel } from '../../src/upstreams/upstream-settings.ts'
import { parsePrice } from '../../src/vocabulary/money.ts'
import { openRoom, type Room } from './room.ts'

/** A model's prices of a million tokens, in dollars. */
export interface SessionPrices {
  readonly input: number
  readonly output: number
}

interface SessionInput {
  readonly prices: SessionPrices
  readonly creditMicros: number
  /** Files that the agent must read, one in each turn. */
  readonly files: number
  readonly fileBytes: number
}

/** The model that the settings of docs/clients.md name. */
const MODEL_ID = 'sim/text'
const WINDOW_TOKENS = 200_000
const OUTPUT_TOKENS_MAX = 32_000

/** Opens a room before a played Anthropic server, with a task in it that reads a file in each turn. */
export async function openSession(input: SessionInput): Promise<Room> {
  const room = await openRoom({
    creditMicros: input.creditMicros,
    world: {
      vendor: 'anthropic',
      configured: (usual) => {
        const [upstream] = usual.upstreams
        const models = upstream.models.map((model) =>
          model.id === MODEL_ID ? pricedModel(model, input.prices) : model,
        )
        return { ...usual, upstreams: [{ ...upstream, models }] }
      },
    },
  })
  const reads = Array.from({ length: input.files }, (_, place) => {
    const path = join(room.work, `part-${place}.txt`)
    writeFileSync(path, codeOf(place, input.fileBytes))
    return { act: { call: 'Read', arguments: { file_path: path } } }
  })
  room.world.simulator.script([...reads, { act: { say: 'Read.' } }])
  return room
}

/** Anthropic's prices: a cache is read at a tenth of the input, written at 1.25 of it, for an hour at twice. */
function pricedModel(model: WrittenModel, { input, output }: SessionPrices): WrittenModel {
  const dollars = { input, output, cacheRead: input / 10, cacheWrite: input * 1.25 }
  const named = { ...dollars, cacheWriteLong: input * 2 }
  const prices = Object.entries(named).map(([name, price]) => [
    name,
    parsePrice((price / 1_000_000).toFixed(9)),
  ])
  return {
    ...model,
    contextTokens: WINDOW_TOKENS,
    outputTokensMax: OUTPUT_TOKENS_MAX,
    prices: Object.fromEntries(prices),
  }
}

/** A turn as the ledger has it. */
interface SessionTurn {
  readonly holdMicros: number
  readonly chargeMicros: number
}

/** The turns of a session, the first first. */
export async function turnsOf({ world }: Room): Promise<readonly SessionTurn[]> {
  await world.gateway.settled()
  const { requests } = await listRequests(world.gateway.store.db, { limit: 100 })
  return requests
    .map((request) => ({
      holdMicros: request.backedGrantedMicros,
      chargeMicros: request.backedChargeMicros,
    }))
    .reverse()
}

/** A part of this repository's own code, which starts again at its end. */
function codeOf(place: number, bytes: number): string {
  const root = join(import.meta.dirname, '../..')
  const code = ['src/journey/hold-size/hold.ts', 'src/formats/media.ts']
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n')
  const from = (place * bytes) % code.length
  return (code + code).slice(from, from + bytes)
}
