import { entryShape } from '../operations/credit/credit.ts'
import { createdCreditCodeShape, creditCodeShape } from '../operations/credit/credit-codes.ts'
import { showMicros } from '../vocabulary/money.ts'
import { idArgument } from './ids.ts'
import { type CommandGroup, type OperationCommand, show, showNamed } from './operation-command.ts'
import { readDollars } from './options.ts'
import { listOptions, PURSE_WORDS, shownRows, withLine } from './rows.ts'
import { moment } from './table.ts'
import { EXPIRES_OPTION } from './times.ts'

const CODES = shownRows(creditCodeShape, {
  list: 'codes',
  none: 'no credit codes: create one with `tollgate credit code create <dollars>`',
  columns: {
    ID: ({ id }) => id,
    CODE: ({ suffix }) => `…${suffix}`,
    WORTH: ({ amount }) => showMicros(amount),
    STATE: ({ redeemed_by, revoked_at }) => {
      if (redeemed_by !== null) return 'redeemed'
      return revoked_at === null ? 'unredeemed' : 'revoked'
    },
    ACCOUNT: ({ redeemed_by }) => redeemed_by ?? '-',
    EXPIRES: ({ expires_at }) => moment(expires_at),
  },
})

const account = idArgument('acct', '<account>', 'params.account_id')
const code = idArgument('code', '<code>', 'params.code_id')

const ADD: OperationCommand = {
  name: 'add',
  formerly: 'grant',
  runs: 'addCredit',
  words: 'add credit to an account, or remove it',
  body: { kind: 'backed' },
  takes: [
    account,
    {
      flags: '<dollars>',
      words:
        'the amount, such as 25 or 0.50, without a $ sign; a negative amount removes paid credit',
      to: 'body.amount',
      read: readDollars,
    },
    {
      flags: '--reference <id>',
      words: 'required: your own ID for this credit; a repeat with the same ID adds nothing',
      to: 'body.reference',
    },
    {
      flags: '--free',
      words: 'free credit: pays for open-weight text models only, and expires',
      to: 'body.kind',
      read: readPurse,
    },
    {
      ...EXPIRES_OPTION,
      words: 'required with --free: when it expires, such as 2027-01-31 or 90d',
    },
  ],
  show: showNamed(entryShape, async (entry, { httpStatus, named }) => {
    const { amount, purse } = entry
    const whose = await named.account(entry.account_id)
    if (httpStatus === 200) {
      return { out: `this reference of ${whose} was used before: nothing changed` }
    }
    return amount < 0
      ? { out: `removed ${showMicros(-amount)} of ${PURSE_WORDS[purse]} credit from ${whose}` }
      : { out: `added ${showMicros(amount)} of ${PURSE_WORDS[purse]} credit to ${whose}` }
  }),
  help: `A shell replaces $2 in $25, so that 5 is left: type amounts without a $ sign.
\`tollgate account entries <account>\` shows what was added and removed.`,
  examples: [
    'tollgate credit add Ada 25 --reference invoice-1042',
    'tollgate credit add Ada 5 --reference welcome-1042 --free --expires 90d',
    'tollgate credit add Ada -25 --reference removal-1042',
  ],
}

const REDEEM: OperationCommand = {
  name: 'redeem',
  runs: 'redeemCode',
  words: 'redeem a credit code for an account; a code can be redeemed once',
  takes: [
    account,
    {
      flags: '<code>',
      words: 'the text of the code, in any case, with or without hyphens',
      to: 'body.code',
    },
  ],
  examples: ['tollgate credit redeem Ada ABCDEF-GHJKMN-PQRSTV-WXYZ23'],
  show: showNamed(entryShape, async ({ account_id, amount }, { httpStatus, named }) => {
    const whose = await named.account(account_id)
    return {
      out:
        httpStatus === 200
          ? `${whose} redeemed the code before: nothing changed`
          : `added ${showMicros(amount)} of paid credit to ${whose}`,
    }
  }),
}

const CODE_COMMANDS: CommandGroup = {
  name: 'code',
  words: 'create, list and revoke credit codes',
  commands: [
    {
      name: 'create',
      runs: 'createCode',
      words: 'create a code for paid credit; its text is shown only once',
      takes: [
        {
          flags: '<dollars>',
          words: 'the amount of credit, such as 25 or 0.50, without a $ sign',
          to: 'body.amount',
          read: readDollars,
        },
        EXPIRES_OPTION,
      ],
      help: 'Standard output has only the text of the code, for scripts.',
      examples: ['tollgate credit code create 25 --expires 90d'],
      show: show(createdCreditCodeShape, (made) => ({
        out: made.code,
        note: `Created a code for ${showMicros(made.amount)} (${made.id}). This is the only time its text is shown: send it to your customer.`,
      })),
    },
    {
      name: 'list',
      runs: 'listCodes',
      words: 'list codes, newest first, with the accounts that redeemed them',
      takes: listOptions('codes', 'code ID'),
      examples: ['tollgate credit code list --limit 100'],
      show: CODES.page,
    },
    {
      name: 'show',
      runs: 'getCode',
      words: 'show one code, with the account that redeemed it',
      takes: [code],
      examples: ['tollgate credit code show WXYZ23'],
      show: showNamed(creditCodeShape, async (found, { named }) => {
        const { redeemed_by } = found
        const { out } = CODES.one({ body: found, httpStatus: 200 })
        return redeemed_by === null
          ? { out }
          : { out: withLine(out, `redeemed by: ${await named.account(redeemed_by)}`) }
      }),
    },
    {
      name: 'revoke',
      runs: 'revokeCode',
      words: 'revoke a code that has not been redeemed',
      takes: [code],
      examples: ['tollgate credit code revoke WXYZ23'],
      show: CODES.one,
    },
  ],
}

/** `tollgate credit`: adding credit to accounts, and credit codes. */
export const CREDIT_COMMANDS: CommandGroup = {
  name: 'credit',
  words: 'add credit to accounts, and manage credit codes',
  commands: [ADD, CODE_COMMANDS, REDEEM],
}

/** The purse that `--free` selects. */
function readPurse(free: string): 'free' | 'backed' {
  return free === 'true' ? 'free' : 'backed'
}
