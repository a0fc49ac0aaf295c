import { adminTokenShape, createdAdminTokenShape } from '../operations/admin-tokens.ts'
import { type CommandGroup, show } from './operation-command.ts'
import { listOptions, readExpirySeconds, readWords, shownRows } from './rows.ts'
import { moment } from './table.ts'

const TOKENS = shownRows(adminTokenShape, {
  list: 'admin_tokens',
  none: 'no admin tokens: make one with `tollgate token create --name <name> --scope read`',
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
      words: 'create an admin token; its text is shown only now',
      takes: [
        {
          flags: '--name <name>',
          words: 'whose it is: changes are recorded with it',
          to: 'body.name',
        },
        {
          flags: '--scope <scopes>',
          words: 'read, keys, credit or everything; several are comma-separated',
          to: 'body.scopes',
          read: readWords,
        },
        {
          flags: '--expires <when>',
          formerly: '--expires-in <time>',
          words: 'when it expires, such as 2027-01-31 or 90d; left out: never',
          to: 'body.expires_in_seconds',
          read: readExpirySeconds,
        },
      ],
      help: `
read        all that changes nothing
keys        makes and changes accounts and API keys
credit      adds and takes credit, makes codes, decides purchases, settles requests
everything  these, and all else: users, tokens, webhooks, maintenance

A token may do what its scopes say and nothing else: for a shop that also lists its keys, --scope read,keys.
The admin API is on only while ADMIN_API_TOKEN is set; without it, no token works.

  tollgate token create --name shop --scope keys,credit --expires 90d`,
      show: show(createdAdminTokenShape, (made) => ({
        out: made.token,
        note: `This is the only time the token ${made.id} is shown.`,
      })),
    },
    {
      name: 'list',
      runs: 'listAdminTokens',
      words: 'list the admin tokens, newest first',
      takes: listOptions('admin_tokens', 'token id'),
      show: TOKENS.page,
    },
    {
      name: 'revoke',
      runs: 'revokeAdminToken',
      words:
        'refuse a token for ever, and those that were made by it; servers know within a second',
      takes: [{ flags: '<token>', words: 'its ID, atok_…', to: 'params.token_id' }],
      show: TOKENS.one,
    },
  ],
}
