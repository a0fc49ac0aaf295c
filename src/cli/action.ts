import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { operatorActionShape } from '../operations/gateway/operator-desk.ts'
import { showMicros } from '../vocabulary/money.ts'
import {
  COMMAND_LINE,
  GATEWAY,
  isRecordedMoney,
  RECORDED_OPERATIONS,
} from '../vocabulary/recorded-operation.ts'
import type { CommandContext } from './command-context.ts'
import { findId } from './ids.ts'
import type { CommandGroup } from './operation-command.ts'
import { accountOption, CSV_OPTION, readWords } from './options.ts'
import { listOptions, shownRows } from './rows.ts'
import { moment } from './table.ts'
import { UsageFailure } from './terminal.ts'
import { spanOptions } from './times.ts'

const ACTIONS = shownRows(operatorActionShape, {
  list: 'actions',
  none: 'no changes match',
  cut: ['BY', 'NAME', 'BEFORE', 'FIELDS'],
  columns: {
    AT: ({ created_at }) => moment(created_at),
    BY: ({ user_email, token_name }) => user_email ?? token_name ?? '-',
    ACTION: ({ action }) => action,
    ACCOUNT: ({ account_id }) => account_id ?? '-',
    NAME: ({ account_name }) => account_name ?? '-',
    TARGET: ({ target_id }) => target_id ?? '-',
    AMOUNT: ({ amount }) => (amount === null ? '-' : showMicros(amount)),
    BEFORE: ({ before }) => (before === null ? '-' : fieldWords(before)),
    FIELDS: ({ detail }) => fieldWords(detail),
  },
})

function fieldWords(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([field, value]) => {
      if (field === 'fee_basis_points') {
        return `fee=${value === null ? 'none' : `${Number(value) / 100}%`}`
      }
      const isMoney = isRecordedMoney(field) && typeof value === 'number'
      return `${field}=${isMoney ? showMicros(value) : (value ?? 'none')}`
    })
    .join(' ')
}

/** The names of actors that have no ID. */
const WITHOUT_ID = new Set<string>([COMMAND_LINE, GATEWAY, 'ADMIN_API_TOKEN'])

/**
 * The IDs of users and admin tokens, from their IDs, email addresses and names of tokens, comma-separated. Removed users
 * and revoked tokens are found too: the audit log has their changes. Throws as `findId` does.
 */
async function findActorIds(text: string, opened: Pick<CommandContext, 'store'>): Promise<string> {
  const found: string[] = []
  for (const actor of readWords(text)) {
    if (WITHOUT_ID.has(actor)) found.push(actor)
    else {
      const kind = actor.includes('@') || actor.startsWith('user_') ? 'user' : 'atok'
      found.push(await findId(kind, actor, { ...opened, alsoEnded: true }))
    }
  }
  return found.join()
}

/** Names of operations. A mistyped one would find nothing in the audit log, which would read as an answer. */
function readOperations(text: string): string {
  const names = readWords(text)
  if (names.every((name) => RECORDED_OPERATIONS.some((each) => each === name))) return names.join()
  throw new UsageFailure(`must be names of operations: ${RECORDED_OPERATIONS.join(', ')}`)
}

/** Names of fields, as the list has them: the fee has a shorter one there. */
function readFields(text: string): string {
  return readWords(text)
    .map((name) => (name === 'fee' ? 'fee_basis_points' : name))
    .join()
}

/** `tollgate action`: the audit log. */
export const ACTION_COMMANDS: CommandGroup = {
  name: 'action',
  words: 'read the audit log',
  commands: [
    {
      name: 'list',
      runs: 'listOperatorActions',
      words: 'list changes by operators, admin tokens and commands, newest first',
      takes: [
        ...listOptions('actions', 'action ID'),
        accountOption('query.account'),
        {
          flags: '--by <names>',
          words:
            'only by these people and admin tokens, comma-separated: email addresses, names of tokens, or IDs; "command line" for commands',
          to: 'query.by',
          find: findActorIds,
        },
        {
          flags: '--action <names>',
          words: 'only these operations, comma-separated, such as changeAccount,addCredit',
          to: 'query.action',
          read: readOperations,
        },
        {
          flags: '--field <names>',
          words:
            'only changes that set or removed one of these fields, comma-separated, such as fee,allowance',
          to: 'query.field',
          read: readFields,
        },
        ...spanOptions('recorded'),
        { ...CSV_OPTION, words: 'print all of them as CSV' },
      ],
      examples: [
        'tollgate action list --account Ada --action addCredit',
        'tollgate action list --by ada@example.com --since 7d',
        'tollgate action list --field fee',
        'tollgate action list --by "command line" --csv > actions.csv',
      ],
      show: async (answered, ran) =>
        answered.body instanceof Readable
          ? { out: (await text(answered.body)).trimEnd() }
          : ACTIONS.page(answered, ran),
    },
  ],
}
