/** Credit that was bought or activated, and credit that was given. */
export type Purse = (typeof PURSES)[number]

/** Both kinds of credit. */
export const PURSES = ['backed', 'free'] as const

/** Why an entry was posted. */
export type EntryKind = (typeof ENTRY_KINDS)[number]

/** Every reason for which an entry is posted. */
export const ENTRY_KINDS = [
  /** Backed credit added. */
  'top_up',
  /** Backed credit of a code. */
  'activation',
  /** Backed credit taken back. */
  'chargeback',
  /** Free credit added. */
  'grant',
  /** What a request cost. */
  'charge',
  /** What a request turned out to cost more, or less, than was charged. */
  'correction',
  /** Free credit that lapsed. */
  'expiry',
  /** Of a charge on free credit, what the purse could not pay. */
  'write_off',
] as const
