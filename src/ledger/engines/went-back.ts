import { type Micros, micros, ZERO_MICROS } from '../../vocabulary/money.ts'
import { isDone, verdictOn, withHighestLost } from '../apply-command.ts'
import type { LedgerCommand, LedgerVerdict } from '../commands.ts'
import type { OperatorAction } from '../operator-actions.ts'
import type { RebookInput } from '../rules/rebook.ts'
import type { CommitMemory, LostBatch, Witness } from './commit-memory.ts'
import { STATEMENTS } from './postgres-statements.ts'
import type { PostgresWriter } from './postgres-writer.ts'

/** The commits that a database lost when it went back, and how many were booked again. */
export interface StoreGap {
  /** The times of the first and the last lost commit, by the store's clock. */
  readonly fromMs: number
  readonly untilMs: number
  readonly commits: number
  /** Whether earlier commits may be lost too, which this gateway no longer keeps. */
  readonly isAtLeast: boolean
  /** The number of requests that were booked again. */
  readonly requests: number
  readonly chargeMicros: Micros
  /** The number of other commands that were run again. */
  readonly commands: number
  /** The number of commands that could not be booked. */
  readonly lost: number
}

/** Lost commands to book again, on any open connection. */
export class Rebooking {
  #waiting: LedgerCommand[]
  /** Commands that the store has not accepted yet: another gateway may have to book their account first. */
  readonly #refused: LedgerCommand[] = []
  #requests = 0
  #chargeMicros: Micros = ZERO_MICROS
  #commands = 0
  /** The times of the commands, by the store's clock. */
  readonly #times = new Map<LedgerCommand, number>()
  readonly #lost: readonly LostBatch[]
  readonly #isAtLeast: boolean

  /** By position: the lost batches; open holds that may be lost; whether more may be lost. */
  constructor(
    lost: readonly LostBatch[],
    { open, isAtLeast }: { readonly open: readonly RebookInput[]; readonly isAtLeast: boolean },
  ) {
    this.#lost = withHighestLost(lost)
    this.#isAtLeast = isAtLeast
    for (const { commands, nowMs } of this.#lost) {
      for (const command of commands) this.#times.set(command, nowMs)
    }
    this.#waiting = merged([
      ...open.map((input) => ({ kind: 'rebook', input }) as const),
      ...this.#lost.flatMap(({ commands }) => commands),
    ])
  }

  /** The next commands to run; empty: all were run once. */
  next(commandsMax: number): readonly LedgerCommand[] {
    return this.#waiting.slice(0, commandsMax)
  }

  /** The time of a command that is booked again: expired credit was still valid then. A request ends now. */
  timeOf(command: LedgerCommand): number | null {
    return this.#times.get(command) ?? null
  }

  /** The users and admin tokens that the waiting commands name. */
  actorIds(): readonly string[] {
    return [...new Set(this.#waiting.flatMap(actorsOf))]
  }

  /** Leaves the users and admin tokens out of the waiting commands that the store has lost too. */
  keepActors(known: ReadonlySet<string>): void {
    this.#waiting = this.#waiting.map((command) => {
      const kept = withKnownActors(command, known)
      const atMs = this.#times.get(command)
      if (atMs !== undefined) this.#times.set(kept, atMs)
      return kept
    })
  }

  /** Records that these commands were committed, with these verdicts. */
  ran(commands: readonly LedgerCommand[], verdicts: readonly LedgerVerdict[]): void {
    this.#waiting = this.#waiting.slice(commands.length)
    for (const [place, command] of commands.entries()) {
      const verdict = verdicts[place]
      if (!isBooked(command, verdict)) this.#refused.push(command)
      else this.#count(command, verdict)
    }
  }

  /** Records that the store refused this command, which ran alone. */
  refused(command: LedgerCommand): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting !== command)
    this.#refused.push(command)
  }

  /** Queues the refused commands to run once more. */
  tryAgain(): void {
    this.#waiting = [...this.#waiting, ...this.#refused.splice(0)]
  }

  /** Adds an earlier loss that was not yet booked when the database went back once more. It is booked first. */
  bookFirst(earlier: Rebooking): void {
    this.#waiting = merged([...earlier.#waiting, ...earlier.#refused, ...this.#waiting])
    for (const [command, atMs] of earlier.#times) this.#times.set(command, atMs)
  }

  /** The lost commits that were found, and the number booked again so far. */
  gap(): StoreGap {
    const [first] = this.#lost
    return {
      fromMs: first?.nowMs ?? 0,
      untilMs: this.#lost.at(-1)?.nowMs ?? 0,
      commits: this.#lost.length,
      isAtLeast: this.#isAtLeast,
      requests: this.#requests,
      chargeMicros: this.#chargeMicros,
      commands: this.#commands,
      lost: this.#refused.length + this.#waiting.length,
    }
  }

  #count(command: LedgerCommand, verdict: LedgerVerdict | undefined): void {
    if (command.kind !== 'rebook' && command.kind !== 'settle') this.#commands++
    const booked = verdictOn('rebook', command, verdict)
    if (booked?.kind !== 'rebooked') return
    const { wasMissing, settledNow, chargedMicros } = booked
    if (wasMissing || settledNow) this.#requests++
    if (settledNow) this.#chargeMicros = micros(this.#chargeMicros + chargedMicros)
  }
}

/** Books a request that was opened and settled in lost batches once, at the position of its opening. */
function merged(commands: readonly LedgerCommand[]): LedgerCommand[] {
  const settles = new Map<string, RebookInput['settle']>()
  for (const command of commands) {
    if (command.kind !== 'rebook' || command.input.settle === null) continue
    settles.set(command.input.settle.requestId, command.input.settle)
  }
  const seen = new Set<string>()
  return commands.flatMap<LedgerCommand>((command) => {
    if (command.kind !== 'rebook') return [command]
    const { requestId } = command.input.opened.input
    if (seen.has(requestId)) return []
    seen.add(requestId)
    return [{ ...command, input: { ...command.input, settle: settles.get(requestId) ?? null } }]
  })
}

/** By position: a command that was run again, and its verdict. */
function isBooked(command: LedgerCommand, verdict: LedgerVerdict | undefined): boolean {
  // A hold whose answer was lost is released. If the store has lost the hold too, there is nothing to release.
  if (command.kind === 'settle' && command.input.resolution.kind === 'released') return true
  return isDone(command, verdict)
}

/**
 * Checks whether the newest answered batch is in the store. Returns null if it is, else the lost batches, which are
 * then removed from the memory.
 */
export async function findLost(
  writer: PostgresWriter,
  { memory, instanceId }: { readonly memory: CommitMemory; readonly instanceId: string },
): Promise<Rebooking | null> {
  const newest = memory.newest()
  if (newest === null) return null
  const [isThere] = await areThere(writer, { witnesses: [newest], instanceId })
  if (isThere === true) return null
  const witnesses = memory.witnesses()
  const there = await areThere(writer, { witnesses, instanceId })
  // Commits are lost from the end: the first lost one, and all after it.
  const gone = there.indexOf(false)
  const first = gone === -1 ? witnesses.length : gone
  const open = memory.openHolds().map((opened) => ({ opened, settle: null }))
  return new Rebooking(memory.cut(first), {
    open: first === 0 ? open : [],
    isAtLeast: first === 0 && memory.hasForgotten,
  })
}

async function areThere(
  writer: PostgresWriter,
  {
    witnesses,
    instanceId,
  }: { readonly witnesses: readonly Witness[]; readonly instanceId: string },
): Promise<boolean[]> {
  const requestIds = witnesses.flatMap((witness) =>
    witness.kind === 'mark' ? [] : [witness.requestId],
  )
  const [found, marks] = await writer.replies(() => [
    writer.run(STATEMENTS.read_witnesses, [requestIds]),
    writer.run(STATEMENTS.read_commit_mark, [instanceId]),
  ])
  const requests = new Map(found.rows.map((row) => [String(row['id']), Number(row['has_ended'])]))
  const commits = Number(marks.rows[0]?.['commits'] ?? 0)
  return witnesses.map((witness) => {
    if (witness.kind === 'mark') return witness.commits <= commits
    const hasEnded = requests.get(witness.requestId)
    return witness.kind === 'opened' ? hasEnded !== undefined : hasEnded === 1
  })
}

/** Removes from waiting commands the users and admin tokens that the store has lost: no gateway books them again. */
export async function dropLostActors(writer: PostgresWriter, rebooking: Rebooking): Promise<void> {
  const actorIds = rebooking.actorIds()
  if (actorIds.length === 0) return
  const [found] = await writer.replies(() => [writer.run(STATEMENTS.read_actors, [actorIds])])
  rebooking.keepActors(new Set(found.rows.map((row) => String(row['id']))))
}

/** The users and admin tokens that a command names: the new owner of an account, and who gave the command. */
function actorsOf(command: LedgerCommand): string[] {
  const { by = null } = command
  const giver = by === null ? null : 'userId' in by ? by.userId : by.token.id
  const owner = command.kind === 'createAccount' ? command.input.ownerId : null
  return [giver, owner ?? null].filter((id) => id !== null)
}

/**
 * A command without the users and admin tokens that the store does not know, which it would refuse: an account has no
 * owner then, and the audit log names the lost user or token only as text.
 */
function withKnownActors(command: LedgerCommand, known: ReadonlySet<string>): LedgerCommand {
  if (actorsOf(command).every((id) => known.has(id))) return command
  const by = knownGiver(command.by ?? null, known)
  if (command.kind !== 'createAccount') return { ...command, by }
  const { ownerId = null, ...input } = command.input
  const hasOwner = ownerId !== null && known.has(ownerId)
  return { ...command, by, input: { ...input, ownerId: hasOwner ? ownerId : null } }
}

function knownGiver(by: OperatorAction | null, known: ReadonlySet<string>): OperatorAction | null {
  if (by === null) return null
  const { id, action } = by
  if ('userId' in by) {
    return known.has(by.userId) ? by : { id, action, token: { id: null, name: by.userId } }
  }
  const { id: tokenId, name } = by.token
  return tokenId === null || known.has(tokenId) ? by : { id, action, token: { id: null, name } }
}
