import { z } from 'zod'
import { invitationLetter } from '../../mail/letter.ts'
import { makeLink, type NewLink } from '../../people/links.ts'
import { listInvitations } from '../../people/members.ts'
import { remove } from '../../people/removal.ts'
import { findUser, getUser, type ListedUser, listUsers } from '../../people/users.ts'
import type { LinkRow } from '../../store/people-tables.ts'
import { invalidParameter, Problem } from '../../vocabulary/problem.ts'
import { ROLES } from '../../vocabulary/role.ts'
import {
  emailField,
  idField,
  idFilterField,
  listAnswer,
  listShape,
  timeAnswer,
  timeField,
} from '../fields.ts'
import { foundAccount } from '../not-found.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'

/** The people who can sign in to the page. */
export function peopleOperations(parts: OperationParts) {
  return [list(parts), invite(parts), listOpen(parts), reset(parts), removeRights(parts)]
}

function list({ store }: OperationParts) {
  return operation({
    name: 'listUsers',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('users'),
    summary: 'The users of the page, oldest first.',
    answers: { 200: listShape(userShape) },
    async run({ reader }) {
      const users = await listUsers(store.pages(reader))
      return listAnswer(users.map(userAnswer), null)
    },
  })
}

function invite(parts: OperationParts) {
  return operation({
    name: 'createInvitation',
    method: 'POST',
    scope: 'everything',
    paths: staffPaths('invitations'),
    summary:
      'Create a link that makes a person a user of the page. It works once, within 7 days, and is returned only in this answer.',
    body: z
      .strictObject({
        email: emailField.describe('The address of the person.'),
        operator: z
          .boolean()
          .default(false)
          .describe('Whether the person becomes an operator, who can do everything.'),
        account_id: idFilterField('acct').optional(),
        role: z
          .enum(ROLES)
          .default('owner')
          .describe(
            'What the person can do in the account: `member` uses keys and Activity, `owner` also credit and members.',
          ),
        mail: z
          .boolean()
          .default(false)
          .describe('Whether the gateway also emails the link to the person.'),
      })
      .refine(({ operator, account_id }) => operator || account_id !== undefined, {
        message: 'is required without `operator`',
        path: ['account_id'],
      }),
    example: { email: 'ada@example.org', operator: true },
    answers: { 201: linkShape },
    problems: ['not_found'],
    async run({ caller, by, body }) {
      const { email, operator: isOperator, account_id: accountId, role, mail } = body
      const { postLetter } = parts
      if (mail && postLetter === null) {
        throw invalidParameter('mail', '`mail` needs a mail server: set SMTP_URL and MAIL_FROM.')
      }
      const membership = accountId === undefined ? null : { accountId, role }
      const account = accountId === undefined ? null : await foundAccount(parts.store.db, accountId)
      const kind = 'invitation'
      // An operator's invitations end with the role of the operator who sent them.
      const inviterId = caller.kind === 'operator' ? caller.userId : null
      const invited = { kind, email, isOperator, isVouched: true, inviterId, membership } as const
      const made = await makeLink(linkParts(parts), invited, by)
      const answer = linkAnswer(parts, { kind, email, made })
      if (mail) {
        const { expiresAtMs } = made
        const inviter = inviterId === null ? null : await getUser(parts.store.db, inviterId)
        const accountName = account?.name ?? null
        const { serviceName } = parts
        const letter = { to: email, url: answer.url, inviter, accountName, serviceName }
        postLetter?.(invitationLetter({ ...letter, expiresAtMs }), expiresAtMs)
      }
      return answer
    },
  })
}

function listOpen({ store, clock }: OperationParts) {
  return operation({
    name: 'listOpenInvitations',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('invitations'),
    summary: 'The invitations that can still be accepted, newest first.',
    query: z.strictObject({
      account_id: idFilterField('acct').optional().describe('Only invitations to this account.'),
      operator: z
        .enum(['true', 'false'])
        .optional()
        .describe('`true`: only invitations that make an operator; `false`: only the others.'),
    }),
    answers: { 200: listShape(openInvitationShape) },
    async run({ reader, query: { account_id: accountId, operator } }) {
      const isOperator = operator === undefined ? undefined : operator === 'true'
      const filter = { accountId, isOperator }
      const open = await listInvitations({ db: store.pages(reader), clock }, filter)
      return listAnswer(open.map(openInvitationAnswer), null)
    },
  })
}

function reset(parts: OperationParts) {
  return operation({
    name: 'createResetLink',
    method: 'POST',
    scope: 'everything',
    paths: { admin: '/v1/admin/reset-links' },
    summary:
      'Create a link that lets a user set a new password. It works once, within 24 hours, and is returned only in this answer.',
    body: z.strictObject({ email: emailField.describe('The address of the user.') }),
    example: { email: 'ada@example.org' },
    answers: { 201: linkShape },
    problems: ['not_found'],
    takesAccess: true,
    async run({ by, body: { email } }) {
      const user = await findUser(parts.store.db, email)
      if (user === null) {
        throw new Problem('not_found', { message: 'No user has this email address.' })
      }
      const kind = 'reset'
      const made = await makeLink(linkParts(parts), { kind, userId: user.id }, by)
      return linkAnswer(parts, { kind, email: user.email, made })
    },
  })
}

function removeRights({ store, clock }: OperationParts) {
  return operation({
    name: 'removeUser',
    method: 'POST',
    scope: 'everything',
    paths: staffPaths('users/remove'),
    summary:
      'Stop a person from signing in, or remove them from an account or from the operators. Their open invitations to it end.',
    body: z.strictObject({
      email: emailField.describe('The address of the person.'),
      account_id: idFilterField('acct')
        .optional()
        .describe('The account to remove the person from. The person stays a user.'),
      operator: z
        .boolean()
        .default(false)
        .describe('Whether the person stops being an operator. The person stays a user.'),
    }),
    example: { email: 'eve@example.org' },
    answers: { 200: removalShape },
    problems: ['not_found', 'last_operator'],
    takesAccess: true,
    async run({ by, body: { email, account_id, operator: asOperator } }) {
      const removal = { email, accountId: account_id ?? null, asOperator }
      const { isUser, wasOperator, accountIds, invitations } = await remove(
        { db: store.db, clock },
        removal,
        by,
      )
      if (!isUser && !wasOperator && accountIds.length + invitations === 0) {
        throw new Problem('not_found', {
          message:
            'This email address has none of these rights and no open invitation to them: check the address and the account.',
        })
      }
      return {
        object: 'removal',
        email,
        user: isUser,
        operator: wasOperator,
        account_ids: accountIds,
        invitations,
      }
    },
  })
}

function linkParts({ store: { db }, ids, clock }: OperationParts) {
  return { db, ids, clock }
}

/** A user of the page. */
export const userShape = z
  .object({
    id: idField('user'),
    object: z.literal('user'),
    name: z.string(),
    email: z.string(),
    is_operator: z
      .boolean()
      .describe('Whether the user is an operator, who can do everything in every account.'),
    has_second_factor: z.boolean().describe('Whether the user signs in with a second factor.'),
    created_at: timeField,
  })
  .meta({ id: 'User' })

/** A link that has just been made: the only answer with its text. */
export const linkShape = z
  .object({
    object: z.literal('link'),
    kind: z
      .enum(['invitation', 'reset'])
      .describe(
        '`invitation`: the person becomes a user or a member. `reset`: the user sets a new password.',
      ),
    email: z.string(),
    url: z.string().describe('The link. It is not returned again.'),
    expires_at: timeField.describe('When the link stops working.'),
  })
  .meta({ id: 'Link' })

/** The rights that a person has lost. */
export const removalShape = z
  .object({
    object: z.literal('removal'),
    email: z.string(),
    user: z.boolean().describe('Whether a user can no longer sign in: all sessions have ended.'),
    operator: z.boolean().describe('Whether the person is no longer an operator.'),
    account_ids: z
      .array(idField('acct'))
      .describe('The accounts that the person is no longer a member of.'),
    invitations: z.int().describe('The number of open invitations that have ended.'),
  })
  .meta({ id: 'Removal' })

/** A user as responses have it. */
function userAnswer({ user, hasFactor }: ListedUser): z.infer<typeof userShape> {
  return {
    id: user.id,
    object: 'user',
    name: user.name,
    email: user.email,
    is_operator: user.isOperator,
    has_second_factor: hasFactor,
    created_at: timeAnswer(user.createdAtMs),
  }
}

const PAGE_PATHS = { invitation: 'invite', reset: 'reset' } as const

/** A link as responses have it. */
export function linkAnswer(
  { pageUrl }: Pick<OperationParts, 'pageUrl'>,
  {
    kind,
    email,
    made: { text, expiresAtMs },
  }: {
    readonly kind: 'invitation' | 'reset'
    readonly email: string
    readonly made: NewLink
  },
): z.infer<typeof linkShape> {
  const url = `${pageUrl}/app/${PAGE_PATHS[kind]}#${text}`
  return { object: 'link', kind, email, url, expires_at: timeAnswer(expiresAtMs) }
}

/** An invitation that can still be accepted, without its link. */
export const invitationShape = z
  .object({
    id: idField('link'),
    object: z.literal('invitation'),
    email: z.string(),
    role: z
      .enum(ROLES)
      .nullable()
      .describe('The role in the account; null: the invitation is to no account.'),
    created_at: timeField,
    expires_at: timeField.describe('When its link stops working.'),
  })
  .meta({ id: 'Invitation' })

/** An open invitation as responses have it. */
export function invitationAnswer(row: LinkRow): z.infer<typeof invitationShape> {
  return {
    id: row.id,
    object: 'invitation',
    email: row.email ?? '',
    role: row.role,
    created_at: timeAnswer(row.createdAtMs),
    expires_at: timeAnswer(row.expiresAtMs),
  }
}

/** An invitation that can still be accepted, with its effect. */
export const openInvitationShape = invitationShape
  .extend({
    account_id: idField('acct')
      .nullable()
      .describe('The account that the person joins; null: none.'),
    operator: z.boolean().describe('Whether the person becomes an operator.'),
  })
  .meta({ id: 'OpenInvitation' })

function openInvitationAnswer(row: LinkRow): z.infer<typeof openInvitationShape> {
  return { ...invitationAnswer(row), account_id: row.accountId, operator: row.isOperator }
}
