import { z } from 'zod'
import { apiKeyShape, createdApiKeyShape } from '../operations/accounts/api-key-answer.ts'
import { showMicros } from '../vocabulary/money.ts'
import { idArgument } from './ids.ts'
import { allowanceText, LIMIT_DETAILS, limitOptions } from './limits.ts'
import { type CommandGroup, showNamed } from './operation-command.ts'
import {
  METADATA_OPTION,
  MODEL_DETAILS,
  MODEL_OPTIONS,
  metadataDetail,
  orNone,
  readDollars,
} from './options.ts'
import { listOptions, shownRows, withLine } from './rows.ts'
import { moment } from './table.ts'
import { EXPIRES_OPTION, readExpiry, readGrace } from './times.ts'

const KEYS = shownRows(apiKeyShape, {
  list: 'keys',
  none: 'no API keys: create one with `tollgate key create <account>`',
  noneMatch: 'no API keys match',
  cut: ['NAME'],
  columns: {
    ID: ({ id }) => id,
    KEY: ({ prefix }) => prefix,
    NAME: ({ name }) => name,
    STATE: ({ state }) => state.replaceAll('_', ' '),
    SPEND: ({ spend }) => showMicros(spend),
    LIMIT: ({ credit_limit }) => (credit_limit === null ? '-' : showMicros(credit_limit)),
    ALLOWANCE: allowanceText,
    EXPIRES: ({ expires_at }) => moment(expires_at),
  },
  details: { ...MODEL_DETAILS, ...LIMIT_DETAILS, metadata: metadataDetail },
})

/** One key, with its account. */
const showKey = showNamed(apiKeyShape, async (apiKey, { named }) => {
  const { out } = KEYS.one({ body: apiKey, httpStatus: 200 })
  return { out: withLine(out, `account: ${await named.account(apiKey.account_id)}`) }
})

const account = idArgument('acct', '<account>', 'params.account_id')
const keyArgument = idArgument('key', '<key>', 'params.key_id')

/** `tollgate key`: API keys. */
export const KEY_COMMANDS: CommandGroup = {
  name: 'key',
  words: 'create, list, change, rotate, disable and delete API keys',
  commands: [
    {
      name: 'create',
      runs: 'createKey',
      words: 'create an API key that spends the credit of an account; its text is shown only once',
      takes: [
        account,
        {
          flags: '--name <name>',
          words: 'the name of the key, such as the program that uses it',
          to: 'body.name',
          fallback: 'default',
        },
        {
          flags: '--limit <dollars>',
          words: 'the maximum that it can spend in total, such as 20; default: no limit',
          to: 'body.credit_limit',
          read: readDollars,
        },
        EXPIRES_OPTION,
        ...MODEL_OPTIONS,
        ...limitOptions('key', 'new'),
        METADATA_OPTION,
      ],
      help: `Standard output has only the key, for scripts. Clients send it as
\`Authorization: Bearer <key>\` (docs/clients.md).`,
      examples: [
        'tollgate key create Ada --name laptop --limit 20 --expires 90d',
        'tollgate key create Ada --name ci --models-allow "nova/*"',
        'tollgate key create Ada --allowance 5/day',
      ],
      show: showNamed(createdApiKeyShape, async ({ id, key }, { named, settings }) => ({
        out: key,
        note: `Created ${await named.apiKey(id)}. This is the only time its text is shown.
The base URL is ${settings.pageUrl}/v1 for OpenAI's clients, and
${settings.pageUrl} for Anthropic's (docs/clients.md).`,
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
          words: 'only keys with this text in their name, prefix or ID',
          to: 'query.search',
        },
        ...listOptions('keys', 'key ID'),
      ],
      examples: ['tollgate key list Ada --search laptop'],
      show: KEYS.page,
    },
    {
      name: 'show',
      runs: 'getKey',
      words: 'show one API key, without its text',
      takes: [keyArgument],
      examples: ['tollgate key show key_…'],
      show: showKey,
    },
    {
      name: 'update',
      runs: 'changeKey',
      words:
        'change the name, expiry, models, notes or limits of an API key, from its next request on',
      help: `Options that you leave out change nothing. The model lists of the account also
apply.`,
      examples: [
        'tollgate key update key_… --limit 50 --expires none',
        'tollgate key update key_… --models-allow "acme/*"',
        'tollgate key update key_… --models-allow none',
      ],
      changes: true,
      takes: [
        keyArgument,
        { flags: '--name <name>', words: 'a new name', to: 'body.name' },
        {
          flags: '--limit <dollars>',
          words: 'the maximum that it can spend in total, such as 20, or none',
          to: 'body.credit_limit',
          read: orNone(readDollars),
        },
        {
          ...EXPIRES_OPTION,
          words: 'when it expires, such as 2027-01-31 or 90d, or none',
          read: orNone(readExpiry),
        },
        ...MODEL_OPTIONS,
        ...limitOptions('key', 'changed'),
        METADATA_OPTION,
      ],
      show: showKey,
    },
    {
      name: 'rotate',
      runs: 'rotateKey',
      words: 'give an API key a new text, which is shown only once',
      help: `The key keeps its ID, limits and spend. The previous text works until the grace
period ends, or until the next rotation; --grace 0h refuses it at once.
Standard output has only the new text.`,
      examples: ['tollgate key rotate key_…', 'tollgate key rotate key_… --grace 0h'],
      takes: [
        keyArgument,
        {
          flags: '--grace <time>',
          words: 'how long the previous text still works, at most 7d; default: 24h',
          to: 'body.grace_seconds',
          read: readGrace,
        },
      ],
      show: showNamed(createdApiKeyShape, async ({ id, key, previous_expires_at }, { named }) => ({
        out: key,
        note: `Rotated ${await named.apiKey(id)}. This is the only time its new text is shown. ${
          previous_expires_at === null
            ? 'The previous text is refused.'
            : `The previous text works until ${moment(previous_expires_at)}.`
        }`,
      })),
    },
    {
      name: 'delete',
      runs: 'deleteKey',
      words: 'delete an API key for good; its requests stay in Activity',
      takes: [keyArgument],
      examples: ['tollgate key delete key_…'],
      show: showNamed(z.object({ id: z.string() }), async ({ id }, { named }) => ({
        out: `deleted ${await named.apiKey(id)}; its requests stay in Activity`,
      })),
    },
    {
      name: 'disable',
      runs: 'changeKey',
      words: 'refuse new requests of an API key, until it is enabled again',
      takes: [keyArgument],
      body: { disabled: true },
      examples: ['tollgate key disable key_…'],
      show: showKey,
    },
    {
      name: 'enable',
      runs: 'changeKey',
      words: 'accept requests of a disabled API key again',
      takes: [keyArgument],
      body: { disabled: false },
      examples: ['tollgate key enable key_…'],
      show: showKey,
    },
  ],
}
