import {
  COMMANDS,
  type CommandKind,
  type CommandTable,
  type LedgerCommand,
  type LedgerVerdict,
} from './commands.ts'
import { operatorActionRow } from './operator-actions.ts'
import type { Uncounted } from './rules/limits.ts'
import type { Terms } from './rules/open-hold.ts'
import { type NamedRows, noRows, type UnitOfWork } from './work.ts'

/**
 * Applies a command to the unit of work, whichever store its rows are in. The store has loaded
 * the rows that the command names; it saves what `work.changes()` says. Throws where the command or a
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
    const said = { ...subject(work, input), before: earlier, nowMs: terms.nowMs }
    work.operatorActions.insert(operatorActionRow(by, said))
  }
  return verdict
}

/**
 * The periods that a command needs and no row has: of an allowance that it sets, and of one whose clock was set back.
 * All else that the batch has done must have been saved, since the store adds up what is saved. Nearly always none.
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

/** The account whose rows a command locks; null: none, several, or the store has to look. */
export function accountOfCommand<Kind extends CommandKind>({
  kind,
  input,
  owner,
}: LedgerCommand<Kind>): string | null {
  return COMMANDS[kind].locks?.(input, owner) ?? null
}

/**
 * The rows that an engine loads before it applies commands. `areOwnersKnown` false: the owners that commands name of
 * requests are looked up all the same.
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
