import { adminTokenShape, createdAdminTokenShape } from '../operations/people/admin-tokens.ts'
import { idArgument } from './ids.ts'
import { type CommandGroup, show } from './operation-command.ts'
import { readWords } from './options.ts'
import { listOptions, shownRows } from './rows.ts'
import { moment } from './table.ts'
import { readExpirySeconds } from './times.ts'

const TOKENS = shownRows(adminTokenShape, {
  list: 'admin_tokens',
  none: 'no admin tokens: create one with `tollgate token create --name <name> --scope read`',
  cut: ['NAME'],
  columns: {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    SCOPES: ({ scopes }) => scopes.join(),
    EXPIRES: ({ expires_at }) => moment(expires_at),
    REVOKED: ({ revoked_at }) => moment(revoked_at),
    'LAST USED': ({ last_used_at }) => moment(last_used_at),
  },
})

/** `tollgate token`: tokens of the admin API. */
export const TOKEN_COMMANDS: CommandGroup = {
  name: 'token',
  words: 'create, list and revoke tokens of the admin API',
  commands: [
    {
      name: 'create',
      runs: 'createAdminToken',
      words: 'create an admin token; its text is shown only once',
      takes: [
        {
          flags: '--name <name>',
          words: 'required: the name of the token in the audit log',
          to: 'body.name',
        },
        {
          flags: '--scope <scopes>',
          words: 'required: read, keys, credit or everything; several are comma-separated',
          to: 'body.scopes',
          read: readWords,
        },
        {
          flags: '--expires <when>',
          formerly: '--expires-in <time>',
          words: 'when it expires, such as 2027-01-31 or 90d; default: never',
          to: 'body.expires_in_seconds',
          read: readExpirySeconds,
        },
      ],
      help: `read        lists and shows everything, changes nothing
keys        creates and changes accounts and API keys
credit      adds and removes credit, creates codes, decides purchases, settles
            requests
everything  all of these, and users, tokens, webhooks and maintenance

A token can do only what its scopes say: a shop that also lists its keys needs
--scope read,keys. Standard output has only the token, for scripts.
The admin API is on only while ADMIN_API_TOKEN is set; without it, no token
works.`,
      examples: ['tollgate token create --name shop --scope keys,credit --expires 90d'],
      show: show(createdAdminTokenShape, (made) => ({
        out: made.token,
        note: `Created "${made.name}" (${made.id}), with scope ${made.scopes.join()}. This is the only time its text is shown.`,
      })),
    },
    {
      name: 'list',
      runs: 'listAdminTokens',
      words: 'list the admin tokens, newest first',
      takes: listOptions('admin_tokens', 'token ID'),
      examples: ['tollgate token list --limit 100'],
      show: TOKENS.page,
    },
    {
      name: 'revoke',
      runs: 'revokeAdminToken',
      words:
        'revoke a token for good, with all tokens, open invitations and password links that it created; it takes effect within a second',
      takes: [idArgument('atok', '<token>', 'params.token_id')],
      examples: ['tollgate token revoke shop'],
      show: TOKENS.one,
    },
  ],
}
