import { accountShape } from '../operations/accounts.ts'
import { entryShape } from '../operations/credit.ts'
import { showMicros } from '../vocabulary/money.ts'
import { allowanceText, limitOptions } from './limits.ts'
import { type CommandGroup, show } from './operation-command.ts'
import {
  listOptions,
  MODEL_DETAILS,
  MODEL_OPTIONS,
  orNone,
  readDollars,
  readPercent,
  shownRows,
} from './rows.ts'
import { moment } from './table.ts'

const ACCOUNTS = shownRows(accountShape, {
  list: 'accounts',
  none: 'no accounts yet: make one with `tollgate account create <name>`',
  columns: {
    ACCOUNT: ({ id }) => id,
    NAME: ({ name }) => name,
    STATE: ({ disabled }) => (disabled ? 'disabled' : 'active'),
    AVAILABLE: ({ credit }) => showMicros(credit.backed.available),
    HELD: ({ credit: { backed, free } }) => showMicros(backed.held + free.held),
    FREE: ({ credit }) => showMicros(credit.free.available),
    ALLOWANCE: allowanceText,
  },
  details: MODEL_DETAILS,
})

const ENTRIES = shownRows(entryShape, {
  list: 'entries',
  none: 'no entries yet: give the account credit with `tollgate credit grant`',
  columns: {
    ENTRY: ({ id }) => id.replace(/^.*\//, ''),
    AT: ({ created_at }) => moment(created_at),
    KIND: ({ kind }) => kind,
    PURSE: ({ purse }) => purse,
    AMOUNT: ({ amount }) => showMicros(amount),
    OF: ({ reference, request_id }) => reference ?? request_id ?? '-',
  },
})

const account = { flags: '<account>', words: 'its id, acct_…', to: 'params.account_id' } as const

const fee = {
  flags: '--fee <percent>',
  words: 'the platform fee of its requests, 0 to 100, such as 2.5; or none, for that of the model',
  to: 'body.fee_basis_points',
  read: orNone(readPercent),
} as const

/** `tollgate account`: the owners of credit. */
export const ACCOUNT_COMMANDS: CommandGroup = {
  name: 'account',
  words: 'create, list and change accounts',
  commands: [
    {
      name: 'create',
      runs: 'createAccount',
      words: 'create an account without credit',
      makesStore: true,
      takes: [
        { flags: '<name>', words: 'a name', to: 'body.name' },
        { flags: '--email <address>', words: 'an e-mail address', to: 'body.email' },
        fee,
        ...MODEL_OPTIONS,
        ...limitOptions('new'),
      ],
      show: show(accountShape, (made) => ({
        ...ACCOUNTS.one({ body: made, httpStatus: 201 }),
        note: `
  Next, give it credit, in dollars, and make it a key:
    npx tollgate credit grant ${made.id} 25 --reference invoice-1
    npx tollgate key create ${made.id}`,
      })),
    },
    {
      name: 'list',
      runs: 'listAccounts',
      words: 'list accounts, newest first, with their credit',
      takes: listOptions('accounts', 'account id'),
      show: ACCOUNTS.page,
    },
    {
      name: 'show',
      runs: 'getAccount',
      words: 'show one account with its credit',
      takes: [account],
      show: ACCOUNTS.one,
    },
    {
      name: 'entries',
      runs: 'listEntries',
      words: "list the account's entries, newest first: credit, charges, corrections",
      takes: [account, ...listOptions('entries', 'place')],
      show: ENTRIES.page,
    },
    {
      name: 'update',
      runs: 'changeAccount',
      words:
        'change the name, e-mail address, platform fee, models, allowance or limits of an account',
      changes: true,
      takes: [
        account,
        { flags: '--name <name>', words: 'a name', to: 'body.name' },
        {
          flags: '--email <address>',
          words: 'an e-mail address, or none',
          to: 'body.email',
          read: orNone(String),
        },
        fee,
        ...MODEL_OPTIONS,
        ...limitOptions('changed'),
        {
          flags: '--low-balance <dollars>',
          words: 'backed credit below which webhooks report it as low, or none for $5',
          to: 'body.low_balance',
          read: orNone(readDollars),
        },
      ],
      show: ACCOUNTS.one,
    },
    {
      name: 'disable',
      runs: 'changeAccount',
      words: 'refuse new requests of its keys; requests in flight finish and are charged',
      takes: [account],
      body: { disabled: true },
      show: ACCOUNTS.one,
    },
    {
      name: 'enable',
      runs: 'changeAccount',
      words: 'accept requests of its keys again',
      takes: [account],
      body: { disabled: false },
      show: ACCOUNTS.one,
    },
  ],
}
