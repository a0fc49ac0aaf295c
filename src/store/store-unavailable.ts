/** The store did not answer or did not commit. What was asked may or may not be there: ask again by id. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** The store answered that it can't do this one thing; others are unharmed. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused'
}
