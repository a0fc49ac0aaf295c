import {
  COMMANDS,
  type CommandKind,
  type CommandTable,
  type LedgerCommand,
  type LedgerVerdict,
  type RecordedCommand,
  type RecordedCommands,
  type RecordedKind,
} from './commands.ts'
import type { Uncounted } from './counts.ts'
import { operatorActionRow } from './operator-actions.ts'
import type { Terms } from './rules/open-hold.ts'
import { type NamedRows, noRows, type UnitOfWork } from './work.ts'

/**
 * Applies a command to the unit of work, whichever store its rows are in. The store has loaded
 * the rows that the command names; it saves what `work.changes()` says. Throws if the command or a
 * row is impossible, and then nothing of the unit of work may be saved.
 */
export function applyCommand<Kind extends CommandKind>(
  work: UnitOfWork,
  { kind, input, by = null }: LedgerCommand<Kind>,
  terms: Terms,
): LedgerVerdict<Kind> {
  const { rule, subject, before }: CommandTable[Kind] = COMMANDS[kind]
  const writesBefore = work.writes
  const earlier = by === null ? {} : before?.(work, input)
  const verdict = rule(work, input, terms)
  // A change by an operator is recorded in the same transaction; a command that changes nothing leaves no record.
  if (by !== null && subject !== undefined && work.writes > writesBefore) {
    const facts = { ...subject(work, input), before: earlier, nowMs: terms.nowMs }
    work.operatorActions.insert(operatorActionRow(by, facts))
  }
  return verdict
}

/**
 * The periods that a command needs and no row has: of an allowance that it sets, and of one whose clock was set back.
 * The earlier changes of the batch must be saved first, because the store adds up saved rows. Nearly always none.
 */
export function uncountedBy<Kind extends CommandKind>(
  work: UnitOfWork,
  { kind, input }: LedgerCommand<Kind>,
  nowMs: number,
): readonly Uncounted[] {
  return COMMANDS[kind].uncounted?.(work, input, nowMs) ?? NONE
}

const NONE: readonly Uncounted[] = []

/** Whether a command without a witness of its own is run again where the store has lost it. */
export function isRunAgain({ kind, by = null }: LedgerCommand): boolean {
  const { isRunAgain } = COMMANDS[kind]
  return isRunAgain === 'ofOperators' ? by !== null : isRunAgain
}

/** A verdict by the kind of its command; undefined: it is a command of another kind, or has no verdict. By position: the kind, the command, the verdict. */
export function verdictOn<Kind extends CommandKind>(
  kind: Kind,
  given: LedgerCommand,
  verdict: LedgerVerdict | undefined,
): LedgerVerdict<Kind> | undefined {
  // The verdict is that of the command's rule.
  return given.kind === kind ? (verdict as LedgerVerdict<Kind>) : undefined
}

/** Whether the store has the effect of a command. By position: command, and verdict; undefined: it has none. */
export function isDone<Kind extends CommandKind>(
  { kind, input }: LedgerCommand<Kind>,
  verdict: LedgerVerdict<Kind> | undefined,
): boolean {
  if (verdict === null || verdict === undefined) return false
  const { isDone: says }: CommandTable[Kind] = COMMANDS[kind]
  return says?.(verdict, input) ?? true
}

/** The form in which a command is kept to be run again. By position: the command, and the verdict on it. */
export function keptCommand<Kind extends CommandKind>(
  given: LedgerCommand<Kind>,
  verdict: LedgerVerdict | undefined,
): LedgerCommand<Kind> {
  const { again, kept }: CommandTable[Kind] = COMMANDS[given.kind]
  if (kept !== undefined) return { ...given, input: kept(given.input) }
  if (again === undefined || verdict === undefined) return given
  // The verdict is that of the command's rule.
  return { ...given, input: again.withNumber(given.input, verdict as LedgerVerdict<Kind>) }
}

/** Puts the highest lost number of its kind into each lost command. */
export function withHighestLost<Batch extends { readonly commands: readonly LedgerCommand[] }>(
  lost: readonly Batch[],
): readonly Batch[] {
  const highest = new Map<CommandKind, number>()
  for (const given of lost.flatMap(({ commands }) => commands)) {
    highest.set(given.kind, Math.max(highest.get(given.kind) ?? 0, numberOf(given)))
  }
  return lost.map((batch) => ({
    ...batch,
    commands: batch.commands.map((given) => withHighestNumber(given, highest.get(given.kind) ?? 0)),
  }))
}

function numberOf<Kind extends CommandKind>({ kind, input }: LedgerCommand<Kind>): number {
  return COMMANDS[kind].again?.numberOf(input) ?? 0
}

/** By position: the command, and the highest lost number; 0: none is lost. */
function withHighestNumber<Kind extends CommandKind>(
  given: LedgerCommand<Kind>,
  highestLost: number,
): LedgerCommand<Kind> {
  const { again }: CommandTable[Kind] = COMMANDS[given.kind]
  if (again === undefined || highestLost === 0) return given
  return { ...given, input: again.withHighestNumber(given.input, highestLost) }
}

/** Whether commands of a kind wait for a commit that other commands start. */
export function isIdle(kind: CommandKind): boolean {
  return COMMANDS[kind].isIdle === true
}

// `Object.keys` loses the type of the names. Commands with a `subject` are recorded in the audit log.
const RECORDED_KINDS = (Object.keys(COMMANDS) as CommandKind[]).filter(
  (kind): kind is RecordedKind => COMMANDS[kind].subject !== undefined,
)

/** Makes the function of each command that an operator may give, which `submit` commits. */
export function recordedCommands(
  submit: <Kind extends RecordedKind>(given: LedgerCommand<Kind>) => Promise<LedgerVerdict<Kind>>,
): RecordedCommands {
  const functionOf = <Kind extends RecordedKind>(kind: Kind): RecordedCommand<Kind> => {
    return (input, by = null) => submit<Kind>({ kind, input, by })
  }
  const functions = RECORDED_KINDS.map((kind) => [kind, functionOf(kind)] as const)
  // `fromEntries` does not say that the object has a function for each kind.
  return Object.fromEntries(functions) as RecordedCommands
}

/** The account whose rows a command locks; null: none, several, or the store has to look. */
export function accountOfCommand<Kind extends CommandKind>({
  kind,
  input,
  owner,
}: LedgerCommand<Kind>): string | null {
  return COMMANDS[kind].locks?.(input, owner) ?? null
}

/**
 * The rows that an engine loads before it applies commands. `areOwnersKnown` false: the owners of requests are looked
 * up even if commands name them.
 */
export function rowsNamedBy(
  commands: readonly LedgerCommand[],
  { areOwnersKnown }: { readonly areOwnersKnown: boolean },
): NamedRows {
  const named = noRows()
  for (const given of commands) nameRows(named, given)
  if (!areOwnersKnown) for (const requestId of named.requestIds) named.unownedIds.add(requestId)
  return named
}

function nameRows<Kind extends CommandKind>(
  named: NamedRows,
  { kind, input, owner }: LedgerCommand<Kind>,
): void {
  COMMANDS[kind].rows(named, input, owner)
}
