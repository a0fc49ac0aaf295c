import { Catalog } from './catalog.ts'
import { CATALOG_ROWS } from './catalog-rows.ts'
import { FaultScript } from './faults.ts'
import type { Pace } from './formats/format.ts'
import { Gates } from './gates.ts'
import { Generations } from './generations.ts'
import { PrefixMemory } from './prompt-meter.ts'
import { Recorder } from './recorder.ts'
import type { Vendor } from './vendors.ts'

/** All that the simulator remembers between requests. */
export class World {
  readonly catalog = new Catalog(CATALOG_ROWS)
  readonly script = new FaultScript()
  readonly gates = new Gates()
  readonly generations = new Generations()
  readonly recorder = new Recorder()
  readonly prefixes = new PrefixMemory()
  readonly isRecording: boolean
  readonly pace: Pace
  readonly nowMs: () => number
  /** The vendor that is played; null: OpenRouter. */
  readonly vendor: Vendor | null
  #generationCount = 0

  constructor(input: {
    readonly isRecording: boolean
    readonly pace: Pace
    readonly nowMs: () => number
    readonly vendor: Vendor | null
  }) {
    this.isRecording = input.isRecording
    this.pace = input.pace
    this.nowMs = input.nowMs
    this.vendor = input.vendor
  }

  /** A fresh `gen-<unix>-<20 characters>` id. */
  nextGenerationId(nowMs: number): string {
    this.#generationCount += 1
    const count = this.#generationCount.toString(36).padStart(8, '0')
    return `gen-${Math.floor(nowMs / 1000)}-${RUN_TAG}${count}`
  }

  /** Resets to the state at the start; running requests continue. */
  reset(): void {
    this.catalog.restore()
    this.script.clear()
    this.gates.clear()
    this.generations.clear()
    this.recorder.clear()
    this.prefixes.clear()
  }
}

const RUN_TAG = crypto.randomUUID().replaceAll('-', '').slice(0, 12)
