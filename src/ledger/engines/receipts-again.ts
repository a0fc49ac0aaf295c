import type { LedgerCommand, LedgerVerdict } from '../commands.ts'

/**
 * Lets a purchase that is booked again keep its receipt number, which the buyer may have on paper. By position:
 * command, verdict.
 */
export function withReceiptNumber(
  command: LedgerCommand,
  verdict: LedgerVerdict | undefined,
): LedgerCommand {
  if (command.kind !== 'postPurchase') return command
  if (typeof verdict !== 'object' || verdict === null || !('purchase' in verdict)) return command
  const { receiptNumber } = verdict.purchase
  if (receiptNumber === null) return command
  return { ...command, input: { ...command.input, hadReceiptNumber: receiptNumber } }
}

/** Gives each lost purchase the highest lost receipt number, so that a new number is never one of the lost ones. */
export function knowingReceipts<Batch extends { readonly commands: readonly LedgerCommand[] }>(
  lost: readonly Batch[],
): readonly Batch[] {
  const lastLostReceiptNumber = lost
    .flatMap(({ commands }) => commands)
    .reduce((last, command) => Math.max(last, receiptNumberOf(command)), 0)
  if (lastLostReceiptNumber === 0) return lost
  return lost.map((batch) => ({
    ...batch,
    commands: batch.commands.map((command) =>
      command.kind === 'postPurchase'
        ? { ...command, input: { ...command.input, lastLostReceiptNumber } }
        : command,
    ),
  }))
}

function receiptNumberOf(command: LedgerCommand): number {
  return command.kind === 'postPurchase' ? (command.input.hadReceiptNumber ?? 0) : 0
}
