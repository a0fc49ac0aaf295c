import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { z } from 'zod'
import { listedAccountShape } from '../operations/accounts/account-list.ts'
import { accountShape } from '../operations/accounts/accounts.ts'
import { entryShape } from '../operations/credit/credit.ts'
import { listShape } from '../operations/fields.ts'
import { entryName } from '../vocabulary/entry-words.ts'
import { FEE_BASIS_POINTS_MAX, showMicros } from '../vocabulary/money.ts'
import { idArgument } from './ids.ts'
import { allowanceText, limitOptions } from './limits.ts'
import { type CommandGroup, showNamed } from './operation-command.ts'
import {
  BILLING_OPTION,
  CSV_OPTION,
  METADATA_OPTION,
  MODEL_DETAILS,
  MODEL_OPTIONS,
  metadataDetail,
  orNone,
  readDollars,
  sortOption,
} from './options.ts'
import { REFUSALS_COMMAND, STATEMENT_COMMAND } from './reports.ts'
import { listOptions, PURSE_WORDS, shownRows } from './rows.ts'
import { moment } from './table.ts'
import { UsageFailure } from './terminal.ts'
import { rangeOptions, SINCE_FORMS } from './times.ts'

type Account = z.output<typeof accountShape>

/** Available credit is never below zero, so that the debt of an account has no other place. */
function stateText({ state, credit: { backed } }: Account): string {
  return backed.balance < 0 ? `${state}, owes ${showMicros(-backed.balance)}` : state
}

const LISTED = {
  list: 'accounts',
  none: 'no accounts yet: create one with `tollgate account create <name>`',
  noneMatch: 'no accounts match',
  cut: ['NAME'],
  columns: {
    ID: ({ id }: Account) => id,
    NAME: ({ name }: Account) => name,
    STATE: stateText,
    AVAILABLE: ({ credit }: Account) => showMicros(credit.backed.available),
    HELD: ({ credit: { backed, free } }: Account) => showMicros(backed.held + free.held),
    FREE: ({ credit }: Account) => showMicros(credit.free.available),
    ALLOWANCE: (account: Account) => allowanceText(account),
  },
} as const

/** The list where spend and margin were asked for. */
const WITH_SPEND = shownRows(listedAccountShape, {
  ...LISTED,
  columns: {
    ...LISTED.columns,
    SPEND: ({ charge }) => (charge === undefined ? '-' : showMicros(charge)),
    MARGIN: ({ margin }) => (margin == null ? 'not known' : showMicros(margin)),
  },
})

/** The list of accounts of which many requests were refused or failed. */
const FAILING = shownRows(listedAccountShape, {
  ...LISTED,
  columns: {
    ID: LISTED.columns.ID,
    NAME: LISTED.columns.NAME,
    REQUESTS: ({ failing }) => String(failing?.requests ?? '-'),
    REFUSED: ({ failing }) => String(failing?.refused ?? '-'),
    FAILED: ({ failing }) => String(failing?.failed ?? '-'),
    MOSTLY: ({ failing }) => failing?.code ?? '-',
  },
})

const ACCOUNTS = shownRows(accountShape, {
  ...LISTED,
  details: {
    'suspended because': ({ disabled_note }) => disabled_note,
    fee: ({ fee_basis_points }) =>
      fee_basis_points === null ? null : `${fee_basis_points / 100}%`,
    'external ID': ({ external_id }) => external_id,
    ...MODEL_DETAILS,
    metadata: metadataDetail,
    billing: ({ billing }) =>
      billing && [billing.name, billing.address, billing.tax_id].filter(Boolean).join(', '),
  },
})

const ENTRIES = shownRows(entryShape, {
  list: 'entries',
  none: 'no entries yet: add credit with `tollgate credit add`',
  columns: {
    ENTRY: ({ id }) => id.replace(/^.*\//, ''),
    AT: ({ created_at }) => moment(created_at),
    KIND: (entry) => entryName(entry).toLowerCase(),
    CREDIT: ({ purse }) => PURSE_WORDS[purse],
    AMOUNT: ({ amount }) => showMicros(amount),
    REFERENCE: ({ reference, request_id }) => reference ?? request_id ?? '-',
  },
})

const account = idArgument('acct', '<account>', 'params.account_id')

const fee = {
  flags: '--fee <percent>',
  words: 'the platform fee of its requests, such as 2.5; none: the fee of each model',
  to: 'body.fee_basis_points',
  read: orNone(readPercent),
} as const

const lowBalance = {
  flags: '--low-balance <dollars>',
  words: 'webhooks report low credit when paid credit falls below this amount; none: $5',
  to: 'body.low_balance',
  read: orNone(readDollars),
} as const

/** The columns of a list of accounts: those that were asked for. */
function columnsOf(body: unknown) {
  const { data } = listShape(listedAccountShape).parse(body)
  if (data.some(({ failing }) => failing !== undefined)) return FAILING
  return data.some(({ charge }) => charge !== undefined) ? WITH_SPEND : ACCOUNTS
}

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
        {
          flags: '<name>',
          words: 'the name of the customer or team; quote it if it has spaces',
          to: 'body.name',
        },
        {
          flags: '--email <address>',
          words: 'the email address of the account',
          to: 'body.email',
        },
        fee,
        {
          flags: '--external-id <id>',
          words: 'its ID in another system; if an account already has it, that account is shown',
          to: 'body.external_id',
        },
        ...MODEL_OPTIONS,
        ...limitOptions('account', 'new'),
        lowBalance,
        METADATA_OPTION,
        BILLING_OPTION,
      ],
      help: 'With --external-id, you can repeat the command: it creates only one account.',
      examples: [
        'tollgate account create "Ada Lovelace" --email ada@example.com',
        'tollgate account create Ada --external-id customer-42 --metadata plan=gold',
      ],
      show: showNamed(accountShape, async (made, { httpStatus, settings: { typedName } }) => ({
        ...ACCOUNTS.one({ body: made, httpStatus }),
        note:
          httpStatus === 200
            ? `This account had the external ID before: nothing changed. \`${typedName} account update\` changes it.`
            : `
  Next, add credit, in dollars, and create a key:
    ${typedName} credit add ${made.id} 25 --reference invoice-1
    ${typedName} key create ${made.id}`,
      })),
    },
    {
      name: 'list',
      runs: 'listAccounts',
      words: 'list accounts, newest first or by --sort, with their credit',
      takes: [
        {
          flags: '--search <text>',
          words: 'only accounts with this text in their name, email address or ID',
          to: 'query.search',
        },
        ...listOptions('accounts', 'account ID'),
        sortOption(['name', 'available', 'held', 'last_request', 'created', 'margin', 'spend']),
        ...rangeOptions(
          `also show spend and margin of requests from this date on, ${SINCE_FORMS}; default, with --until or a --sort by spend or margin: 30 days`,
          'the end of the range of spend and margin, in the same forms; default: now',
        ),
        {
          flags: '--external-id <id>',
          words: 'only the account with this ID in another system',
          to: 'query.external_id',
        },
        {
          flags: '--state <state>',
          words:
            'only active, suspended, low_credit, in_debt or failing accounts; failing: many requests of the last 24 hours were refused or failed',
          to: 'query.state',
        },
        { ...CSV_OPTION, words: 'print all of them as CSV, with spend and margin' },
      ],
      examples: [
        'tollgate account list --search lovelace',
        'tollgate account list --state low_credit --sort available',
        'tollgate account list --sort -spend --since 2027-01-01 --until 2027-02-01',
        'tollgate account list --since last-month --until this-month --csv',
      ],
      show: async (answered, ran) =>
        answered.body instanceof Readable
          ? { out: (await text(answered.body)).trimEnd() }
          : columnsOf(answered.body).page(answered, ran),
    },
    {
      name: 'show',
      runs: 'getAccount',
      words: 'show one account with its credit',
      takes: [account],
      examples: ['tollgate account show Ada'],
      show: ACCOUNTS.one,
    },
    {
      name: 'entries',
      runs: 'listEntries',
      words: "list the account's entries, newest first: credit, charges, corrections",
      takes: [account, ...listOptions('entries', 'place, which the page before printed')],
      examples: ['tollgate account entries Ada --limit 100'],
      show: ENTRIES.page,
    },
    STATEMENT_COMMAND,
    REFUSALS_COMMAND,
    {
      name: 'update',
      runs: 'changeAccount',
      words:
        'change the name, email address, fee, external ID, models, notes, billing details, allowance or limits of an account',
      changes: true,
      takes: [
        account,
        { flags: '--name <name>', words: 'a new name', to: 'body.name' },
        {
          flags: '--email <address>',
          words: 'the email address of the account, or none',
          to: 'body.email',
          read: orNone(String),
        },
        fee,
        {
          flags: '--external-id <id>',
          words: 'its ID in another system, or none',
          to: 'body.external_id',
          read: orNone(String),
        },
        ...MODEL_OPTIONS,
        ...limitOptions('account', 'changed'),
        lowBalance,
        METADATA_OPTION,
        BILLING_OPTION,
      ],
      help: `Options that you leave out change nothing. The model lists of the keys also
apply.`,
      examples: [
        'tollgate account update Ada --fee 2.5 --allowance 20/day',
        'tollgate account update Ada --models-deny "acme/sage-pro,nova/*"',
        'tollgate account update Ada --models-deny none',
      ],
      show: ACCOUNTS.one,
    },
    {
      name: 'suspend',
      formerly: 'disable',
      runs: 'changeAccount',
      words: 'refuse new requests of an account; running requests finish and are charged',
      takes: [
        account,
        {
          flags: '--note <text>',
          words: 'the reason, which its members can read',
          to: 'body.note',
        },
      ],
      body: { disabled: true },
      examples: ['tollgate account suspend Ada --note "invoice 42 is unpaid"'],
      show: ACCOUNTS.one,
    },
    {
      name: 'resume',
      formerly: 'enable',
      runs: 'changeAccount',
      words: 'accept requests of a suspended account again',
      takes: [
        account,
        { flags: '--note <text>', words: 'the reason, for the audit log', to: 'body.note' },
      ],
      body: { disabled: false },
      examples: ['tollgate account resume Ada --note "invoice 42 is paid"'],
      show: ACCOUNTS.one,
    },
  ],
}

/** A percentage such as `2.5` or `5%`, as hundredths of a percent. */
function readPercent(text: string): number {
  const [, whole, places = ''] = /^(\d{1,3})(?:\.(\d{1,2}))?%?$/.exec(text.trim()) ?? []
  const hundredths = Number(whole + places.padEnd(2, '0'))
  if (whole === undefined || hundredths > FEE_BASIS_POINTS_MAX) {
    throw new UsageFailure('must be 0 to 100 percent, such as 2.25: at most two decimal places')
  }
  return hundredths
}
