/**
 * Why a row of the upstream's list is not taken.
 *
 * `unreadable`: it has a field of a wrong type, so the model is there but nothing of it can be
 * believed. `notOffered`: it says, readably, something that can't be sold.
 */
type RowRefusalReason = 'unreadable' | 'notOffered'

/** Ends the reading of one row. Never leaves the reading of the list. */
export class RowRefusal extends Error {
  override readonly name = 'RowRefusal'
  readonly reason: RowRefusalReason

  constructor(reason: RowRefusalReason, message: string) {
    super(message)
    this.reason = reason
  }
}
