import { listShape } from '../operations/fields.ts'
import { memberShape, withdrawnShape } from '../operations/people/members.ts'
import {
  linkShape,
  openInvitationShape,
  removalShape,
  userShape,
} from '../operations/people/people.ts'
import { idArgument } from './ids.ts'
import { type CommandGroup, show, showNamed } from './operation-command.ts'
import { accountOption } from './options.ts'
import { CUT_WIDTH_MIN, fittingTable, moment } from './table.ts'

const withArticle = (role: unknown) => (role === 'owner' ? 'an owner' : 'a member')

const LOOPBACK = /^https?:\/\/(?:localhost|127\.|\[::1\])/

const showLink = showNamed(linkShape, async ({ url, email, kind, expires_at }, { sent, named }) => {
  const { account_id, role, operator } = sent.body
  const rights = [
    ...(operator === true ? ['an operator'] : []),
    ...(typeof account_id === 'string'
      ? [`${withArticle(role)} of ${await named.account(account_id)}`]
      : []),
  ]
  const effect =
    kind === 'reset'
      ? `lets ${email} set a new password, and removes the second factor`
      : `makes ${email} ${rights.join(' and ')}`
  const localOnly = LOOPBACK.test(url)
    ? '\nIt works only on this machine: set TOLLGATE_PUBLIC_URL to the address of the page for people elsewhere.'
    : ''
  return {
    out: url,
    note: `This link ${effect}. It works once, until ${moment(expires_at)}.${localOnly}`,
    noteUnsent: 'Only you have seen it: send it to the person.',
  }
})

const showRemoval = showNamed(
  removalShape,
  async ({ email, user, operator, account_ids, invitations }, { named }) => {
    const accounts = await Promise.all(account_ids.map((id) => named.account(id)))
    const ended = [
      ...(user ? [`${email} can no longer sign in`] : []),
      ...(operator ? [`${email} is no longer an operator`] : []),
      ...accounts.map((account) => `${email} is no longer a member of ${account}`),
      ...(invitations === 0 ? [] : [`open invitations to ${email} ended: ${invitations}`]),
    ]
    return { out: ended.join('\n') }
  },
)

const email = {
  flags: '<email>',
  words: 'the email address of the person',
  to: 'body.email',
} as const

const account = idArgument('acct', '<account>', 'params.account_id')

const role = {
  flags: '<role>',
  words: 'member (keys and Activity) or owner (also credit and members)',
  to: 'body.role',
} as const

/** `tollgate user`: people who sign in to the page. */
export const USER_COMMANDS: CommandGroup = {
  name: 'user',
  words: 'list the users of the page, invite and remove people, set roles, and reset passwords',
  commands: [
    {
      name: 'list',
      runs: 'listUsers',
      words: 'list the users of the page, oldest first',
      takes: [],
      examples: ['tollgate user list'],
      show: show(listShape(userShape), ({ data: users }) => ({
        out:
          users.length === 0
            ? 'no users yet: open the link that `tollgate serve` prints, or run\n`tollgate user invite <email> --operator`'
            : fittingTable(
                ['ID', 'EMAIL', 'NAME', 'OPERATOR', 'SECOND FACTOR', 'CREATED'],
                users.map((user) => [
                  user.id,
                  user.email,
                  user.name,
                  user.is_operator ? 'yes' : 'no',
                  user.has_second_factor ? 'yes' : 'no',
                  moment(user.created_at),
                ]),
                { NAME: CUT_WIDTH_MIN },
              ),
      })),
    },
    {
      name: 'invite',
      runs: 'createInvitation',
      words: 'print a link that makes a person a user; it works once, within 7 days',
      takes: [
        email,
        {
          flags: '--operator',
          words: 'make the person an operator, who can do everything in every account',
          to: 'body.operator',
          read: () => true,
        },
        accountOption('body.account_id', 'give the person access to this account'),
        { ...role, flags: '--role <role>', fallback: 'owner' },
        {
          flags: '--mail',
          words: 'also email the link to the person; needs SMTP_URL and MAIL_FROM',
          to: 'body.mail',
          read: () => true,
        },
      ],
      help: 'Give --operator, --account, or both. Standard output has only the link.',
      examples: [
        'tollgate user invite ada@example.com --account Ada --role member',
        'tollgate user invite bob@example.com --operator --mail',
      ],
      show: showLink,
    },
    {
      name: 'invitations',
      runs: 'listOpenInvitations',
      words: 'list the invitations that can still be accepted, newest first',
      takes: [accountOption('query.account_id', 'only invitations to this account')],
      examples: ['tollgate user invitations', 'tollgate user invitations --account Ada'],
      show: showNamed(listShape(openInvitationShape), async ({ data }, { named }) => ({
        out:
          data.length === 0
            ? 'no open invitations'
            : fittingTable(
                ['ID', 'EMAIL', 'OPERATOR', 'ROLE', 'ACCOUNT', 'SENT', 'EXPIRES'],
                await Promise.all(
                  data.map(async ({ id, email, operator, role, account_id, ...at }) => [
                    id,
                    email,
                    operator ? 'yes' : 'no',
                    role ?? '-',
                    account_id === null ? '-' : await named.account(account_id),
                    moment(at.created_at),
                    moment(at.expires_at),
                  ]),
                ),
                { ACCOUNT: CUT_WIDTH_MIN },
              ),
      })),
    },
    {
      name: 'withdraw',
      runs: 'withdrawInvitation',
      words: 'withdraw an invitation: its link no longer works',
      takes: [idArgument('link', '<invitation>', 'params.invitation_id')],
      help: 'The person keeps all other rights. `tollgate user remove` ends them.',
      examples: ['tollgate user withdraw bob@example.com'],
      show: show(withdrawnShape, ({ id }) => ({ out: `invitation ${id} withdrawn` })),
    },
    {
      name: 'members',
      runs: 'listMembers',
      words: 'list the members of an account, oldest first',
      takes: [account],
      examples: ['tollgate user members Ada'],
      show: show(listShape(memberShape), ({ data: members }) => ({
        out:
          members.length === 0
            ? 'no members yet: run `tollgate user invite <email> --account <account>`.\nInvited people become members when they open their links.'
            : fittingTable(
                ['USER', 'EMAIL', 'NAME', 'ROLE', 'JOINED'],
                members.map((member) => [
                  member.user_id,
                  member.email,
                  member.name,
                  member.role,
                  moment(member.joined_at),
                ]),
                { NAME: CUT_WIDTH_MIN },
              ),
      })),
    },
    {
      name: 'role',
      runs: 'changeMember',
      words: 'give a member of an account another role',
      takes: [account, idArgument('user', '<user>', 'params.user_id'), role],
      help: '`tollgate user members <account>` shows the members and their roles.',
      examples: ['tollgate user role Ada ada@example.com owner'],
      show: showNamed(memberShape, async ({ email, role }, { sent, named }) => {
        const whose = await named.account(sent.params['account_id'] ?? '')
        return { out: `${email} is now ${withArticle(role)} of ${whose}` }
      }),
    },
    {
      name: 'reset',
      runs: 'createResetLink',
      words:
        'print a link that lets a user set a new password; it works once, within 24 hours, and removes second factors',
      takes: [email],
      examples: ['tollgate user reset ada@example.com'],
      show: showLink,
    },
    {
      name: 'remove',
      runs: 'removeUser',
      words: 'stop a person from signing in, or only remove one right; open invitations end',
      takes: [
        email,
        accountOption('body.account_id', 'only end the membership of this account'),
        {
          flags: '--operator',
          words: 'only end the rights of an operator',
          to: 'body.operator',
          read: () => true,
        },
      ],
      examples: [
        'tollgate user remove ada@example.com',
        'tollgate user remove ada@example.com --account Ada',
      ],
      show: showRemoval,
    },
  ],
}
