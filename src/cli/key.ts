import { z } from 'zod'
import { apiKeyShape, createdApiKeyShape } from '../operations/api-key-answer.ts'
import { showMicros } from '../vocabulary/money.ts'
import { allowanceText, limitOptions } from './limits.ts'
import { type CommandGroup, show } from './operation-command.ts'
import {
  listOptions,
  METADATA_OPTION,
  MODEL_DETAILS,
  MODEL_OPTIONS,
  metadataDetail,
  orNone,
  readDollars,
  readExpiry,
  readSeconds,
  shownRows,
} from './rows.ts'
import { moment } from './table.ts'

const KEYS = shownRows(apiKeyShape, {
  list: 'keys',
  none: 'no API keys: create one with `tollgate key create <account>`',
  columns: {
    ID: ({ id }) => id,
    KEY: ({ prefix }) => prefix,
    NAME: ({ name }) => name,
    STATE: ({ state }) => state.replaceAll('_', ' '),
    SPENT: ({ spend }) => showMicros(spend),
    LIMIT: ({ credit_limit }) => (credit_limit === null ? '-' : showMicros(credit_limit)),
    ALLOWANCE: allowanceText,
    EXPIRES: ({ expires_at }) => moment(expires_at),
  },
  details: { ...MODEL_DETAILS, metadata: metadataDetail },
})

const account = {
  flags: '<account>',
  words: 'the ID of the account whose credit it spends, acct_…',
  to: 'params.account_id',
} as const
const apiKey = { flags: '<key>', words: 'its ID, key_…', to: 'params.key_id' } as const

/** `tollgate key`: API keys. */
export const KEY_COMMANDS: CommandGroup = {
  name: 'key',
  words: 'create, list, change, rotate, disable and delete API keys',
  commands: [
    {
      name: 'create',
      runs: 'createKey',
      words: 'create an API key; its text is shown only once',
      takes: [
        account,
        {
          flags: '--name <name>',
          words: 'a name',
          to: 'body.name',
          fallback: 'default',
        },
        {
          flags: '--limit <dollars>',
          words: 'the maximum that it can spend in total',
          to: 'body.credit_limit',
          read: readDollars,
        },
        {
          flags: '--expires <when>',
          words: 'when it expires, such as 2027-01-31 or 90d',
          to: 'body.expires_at',
          read: readExpiry,
        },
        ...MODEL_OPTIONS,
        ...limitOptions('new'),
        METADATA_OPTION,
      ],
      show: show(createdApiKeyShape, (made) => ({
        out: made.key,
        note: `This is the only time the key ${made.id} is shown.`,
      })),
    },
    {
      name: 'list',
      runs: 'listKeys',
      words: "list an account's API keys, newest first",
      takes: [
        account,
        {
          flags: '--search <text>',
          words: 'keys with this text in their name, prefix or ID',
          to: 'query.search',
        },
        ...listOptions('keys', 'key id'),
      ],
      show: KEYS.page,
    },
    { name: 'show', runs: 'getKey', words: 'show one API key', takes: [apiKey], show: KEYS.one },
    {
      name: 'update',
      runs: 'changeKey',
      words:
        'change the name, expiry, models, notes or limits of an API key, from its next request on',
      help: `
A list of models that you leave out is unchanged. The lists of the account also apply.

  tollgate key update key_… --models-allow "acme/*"
  tollgate key update key_… --models-allow none`,
      changes: true,
      takes: [
        apiKey,
        { flags: '--name <name>', words: 'a name', to: 'body.name' },
        {
          flags: '--limit <dollars>',
          words: 'the maximum that it can spend in total, or none',
          to: 'body.credit_limit',
          read: orNone(readDollars),
        },
        {
          flags: '--expires <when>',
          words: 'when it expires, such as 2027-01-31 or 90d, or none',
          to: 'body.expires_at',
          read: orNone(readExpiry),
        },
        ...MODEL_OPTIONS,
        ...limitOptions('changed'),
        METADATA_OPTION,
      ],
      show: KEYS.one,
    },
    {
      name: 'rotate',
      runs: 'rotateKey',
      words: 'give an API key a new text, which is shown only once',
      help: `
The key keeps its ID, limits and spend. The previous text works until the grace period ends,
or until the next rotation.

  tollgate key rotate key_… --grace 24h
  tollgate key rotate key_… --grace 0h      refuse the previous text at once`,
      takes: [
        apiKey,
        {
          flags: '--grace <time>',
          words: 'how long the previous text still works, at most 7d; default: 24h',
          to: 'body.grace_seconds',
          read: readSeconds,
        },
      ],
      show: show(createdApiKeyShape, ({ id, key, previous_expires_at }) => ({
        out: key,
        note: `This is the only time the new text of ${id} is shown. ${
          previous_expires_at === null
            ? 'The previous text is refused.'
            : `The previous text works until ${moment(previous_expires_at)}.`
        }`,
      })),
    },
    {
      name: 'delete',
      runs: 'deleteKey',
      words: 'delete an API key; its requests stay in Activity',
      takes: [apiKey],
      show: show(z.object({ id: z.string() }), ({ id }) => ({
        out: `deleted ${id}; its requests stay in Activity`,
      })),
    },
    {
      name: 'disable',
      runs: 'changeKey',
      words: 'refuse its requests from now on',
      takes: [apiKey],
      body: { disabled: true },
      show: KEYS.one,
    },
    {
      name: 'enable',
      runs: 'changeKey',
      words: 'accept its requests again',
      takes: [apiKey],
      body: { disabled: false },
      show: KEYS.one,
    },
  ],
}
