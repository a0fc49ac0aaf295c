import { isDone, isRunAgain, keptCommand, verdictOn } from '../apply-command.ts'
import type { LedgerCommand, LedgerVerdict } from '../commands.ts'
import type { SettleInput } from '../ledger.ts'
import type { OpenedHold } from '../rules/rebook.ts'
import {
  type PackedText,
  PackedTexts,
  packHold,
  packRequest,
  readText,
  unpackHold,
  unpackRequest,
} from './packed-requests.ts'

/** The commands of a batch, with their verdicts. */
interface Answered {
  readonly commands: readonly LedgerCommand[]
  readonly verdicts: readonly LedgerVerdict[]
  /** The time at which the batch happened, by the store's clock. */
  readonly nowMs: number
}

/** The evidence that a batch is in the store: a request that it opened, one that it ended, or its mark. */
export type Witness =
  | { readonly kind: 'opened' | 'ended'; readonly requestId: string }
  | { readonly kind: 'mark'; readonly commits: number }

/** A batch that was answered, and that the store has lost. */
export interface LostBatch {
  /** The commands to run again, in their order. */
  readonly commands: readonly LedgerCommand[]
  /** The store's time of the batch. */
  readonly nowMs: number
}

/** A committed batch, kept so that its commands can run again if the store loses it. */
interface KeptBatch {
  readonly witness: Witness
  /** A line for each command to run again, in order: a packed request, or empty for the next of `others`. */
  readonly text: PackedText
  readonly others: readonly LedgerCommand[]
  /** The number of lines in `text`. */
  readonly commands: number
  readonly nowMs: number
  readonly keptAtMs: number
}

const NO_OTHERS: readonly LedgerCommand[] = []

/** How long a batch is kept. The newest one is kept for longer. */
const KEPT_MS_MAX = 60_000
const NEWEST_KEPT_MS_MAX = 3_600_000
const KEPT_COMMANDS_MAX = 20_000

/**
 * The commits that the store has confirmed to one gateway: the batches of the last minute, and the open holds.
 * A store that goes back loses its latest commits, so a batch is in the store if any row of the batch is.
 */
export class CommitMemory {
  readonly #elapsedMs: () => number
  readonly #texts = new PackedTexts()
  #batches: KeptBatch[] = []
  /** The index of the oldest batch that is kept. */
  #oldest = 0
  #commands = 0
  #marks = 0
  #hasForgotten = false
  /** The open holds, packed, by the ids of their requests. */
  readonly #open = new Map<string, string>()

  /** `elapsedMs`: a clock that never steps. */
  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs
  }

  /** The mark that a batch must write because no request shows that it is in the store; null: none. */
  markOf({ commands, verdicts }: Omit<Answered, 'nowMs'>): number | null {
    let isKept = false
    for (const [place, command] of commands.entries()) {
      const verdict = verdicts[place]
      if (witnessOf(command, verdict) !== null) return null
      isKept ||= isKeptWhole(command, verdict) || this.#isUnknownRepeat(command, verdict)
    }
    // Each try has its own number: a failed try may be in the store.
    return isKept ? ++this.#marks : null
  }

  /** Records that a batch was committed, and under which mark; null: without a mark. */
  keep({ commands, verdicts, nowMs, mark }: Answered & { readonly mark: number | null }): void {
    let witness: Witness | null = mark === null ? null : { kind: 'mark', commits: mark }
    const lines: string[] = []
    let others = NO_OTHERS
    for (const [place, command] of commands.entries()) {
      const verdict = verdicts[place]
      const own = witnessOf(command, verdict)
      witness ??= own
      const isRequest = own !== null || this.#isUnknownRepeat(command, verdict)
      const line = isRequest ? this.#keepRequest(command, { verdict, nowMs }) : null
      if (line === null && !isRequest && !isKeptWhole(command, verdict)) continue
      lines.push(line ?? '')
      if (line === null) others = [...others, keptCommand(command, verdict)]
    }
    if (lines.length === 0 || witness === null) return
    const keptAtMs = this.#elapsedMs()
    const kept = { text: this.#texts.keep(lines.join('\n')), others, commands: lines.length }
    this.#batches.push({ witness, ...kept, nowMs, keptAtMs })
    this.#commands += lines.length
    this.#forget(keptAtMs)
  }

  /** The evidence for each batch that is kept, oldest first. */
  witnesses(): readonly Witness[] {
    return this.#batches.slice(this.#oldest).map(({ witness }) => witness)
  }

  /** The evidence for the newest committed batch; null: none is kept. */
  newest(): Witness | null {
    const newest = this.#batches.at(-1)
    if (newest === undefined || this.#batches.length === this.#oldest) return null
    return this.#elapsedMs() - newest.keptAtMs > NEWEST_KEPT_MS_MAX ? null : newest.witness
  }

  /** The open holds, including those of batches that are no longer kept. */
  openHolds(): readonly OpenedHold[] {
    return [...this.#open.values()].map(unpackHold)
  }

  /** Whether batches that were confirmed to this gateway have been forgotten. */
  get hasForgotten(): boolean {
    return this.#hasForgotten
  }

  /** Removes and returns the lost batches, from this index in {@link witnesses} on. */
  cut(first: number): readonly LostBatch[] {
    const lost = this.#batches.splice(this.#oldest + first)
    for (const { commands } of lost) this.#commands -= commands
    return lost.map(unpacked)
  }

  /**
   * Whether a hold was opened, or its request has ended, by an earlier batch whose answer this gateway may never have got.
   * By position: command, verdict.
   */
  #isUnknownRepeat(command: LedgerCommand, verdict: LedgerVerdict | undefined): boolean {
    if (command.kind === 'settle')
      return verdictOn('settle', command, verdict)?.settledNow === false
    if (command.kind !== 'openHold' || grantOf(command, verdict)?.isRepeat !== true) return false
    return !this.#open.has(command.input.requestId)
  }

  /** The line from which a lost request is booked again; null: its command is kept unpacked. */
  #keepRequest(
    command: LedgerCommand,
    { verdict, nowMs }: { readonly verdict: LedgerVerdict | undefined; readonly nowMs: number },
  ): string | null {
    const grant = grantOf(command, verdict)
    if (command.kind === 'openHold' && grant !== null) {
      const hold = packHold({ input: command.input, grant, openedAtMs: nowMs })
      this.#open.set(command.input.requestId, hold)
      return packRequest(hold, null)
    }
    if (command.kind === 'settle') return this.#ended(command.input)
    if (command.kind !== 'rebook') return null
    const { opened, settle } = command.input
    const hold = packHold(opened)
    if (settle === null) this.#open.set(opened.input.requestId, hold)
    return packRequest(hold, settle)
  }

  #ended(settle: SettleInput): string | null {
    const hold = this.#open.get(settle.requestId)
    if (hold === undefined) return null
    this.#open.delete(settle.requestId)
    return packRequest(hold, settle)
  }

  #forget(nowMs: number): void {
    for (;;) {
      const oldest = this.#batches[this.#oldest]
      const isOnly = this.#oldest + 1 >= this.#batches.length
      if (oldest === undefined || isOnly) break
      if (this.#commands <= KEPT_COMMANDS_MAX && nowMs - oldest.keptAtMs <= KEPT_MS_MAX) break
      this.#commands -= oldest.commands
      this.#oldest++
      this.#hasForgotten = true
    }
    if (this.#oldest < FORGOTTEN_MAX) return
    this.#batches = this.#batches.slice(this.#oldest)
    this.#oldest = 0
  }
}

/** The number of forgotten batches after which their places are freed. */
const FORGOTTEN_MAX = 256

function unpacked({ text, others, nowMs }: KeptBatch): LostBatch {
  let next = 0
  const commands = readText(text)
    .split('\n')
    .flatMap<LedgerCommand>((line) => {
      if (line !== '') return [{ kind: 'rebook', input: unpackRequest(line) }]
      const other = others[next++]
      return other === undefined ? [] : [other]
    })
  return { commands, nowMs }
}

/** Whether a command is run again as it was given. By position: command, verdict. */
function isKeptWhole(command: LedgerCommand, verdict: LedgerVerdict | undefined): boolean {
  // A command that was refused has left nothing to lose.
  return isRunAgain(command) && isDone(command, verdict)
}

/** The hold that a command has opened, now or before; null: none. By position: command, verdict. */
function grantOf(
  command: LedgerCommand,
  verdict: LedgerVerdict | undefined,
): OpenedHold['grant'] | null {
  const opened = verdictOn('openHold', command, verdict)
  return opened?.kind === 'opened' ? opened : null
}

/** The evidence that a command gives; null: another command or a mark gives it. By position: command, verdict. */
function witnessOf(command: LedgerCommand, verdict: LedgerVerdict | undefined): Witness | null {
  switch (command.kind) {
    case 'openHold':
      // An earlier batch opened a hold that is asked for again: it is no evidence for this batch.
      if (grantOf(command, verdict)?.isRepeat !== false) return null
      return { kind: 'opened', requestId: command.input.requestId }
    case 'settle':
      if (verdictOn('settle', command, verdict)?.settledNow !== true) return null
      return { kind: 'ended', requestId: command.input.requestId }
    case 'rebook': {
      const { opened, settle } = command.input
      if (verdictOn('rebook', command, verdict)?.kind !== 'rebooked') return null
      const { requestId } = opened.input
      return { kind: settle === null ? 'opened' : 'ended', requestId }
    }
    default:
      return null
  }
}
