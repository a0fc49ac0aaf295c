import { z } from 'zod'
import { getAccount } from '../../ledger/accounts.ts'
import { invitationLetter } from '../../mail/letter.ts'
import { makeLink, refuseTooMany } from '../../people/links.ts'
import { countInvitation } from '../../people/mail-rates.ts'
import { changeMember, listInvitations, withdrawInvitation } from '../../people/members.ts'
import { getUser, listMembers, type Member } from '../../people/users.ts'
import { ROLES } from '../../vocabulary/role.ts'
import { type Caller, isMember } from '../caller.ts'
import { emailField, idField, listAnswer, listShape, timeAnswer, timeField } from '../fields.ts'
import { foundAccount, notFound } from '../not-found.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { sharedPaths } from '../paths.ts'
import { invitationAnswer, invitationShape, linkAnswer, linkShape } from './people.ts'

/** The people who can open the pages of an account. */
export function memberOperations(parts: OperationParts) {
  return [
    list(parts),
    change(parts),
    remove(parts),
    leave(parts),
    invitations(parts),
    invite(parts),
    withdraw(parts),
  ]
}

const MEMBER = '/app/api/accounts/{account_id}'
const MEMBERS = {
  admin: '/v1/admin/accounts/{account_id}/members',
  member: `${MEMBER}/members`,
} as const

function list({ store }: OperationParts) {
  return operation({
    name: 'listMembers',
    method: 'GET',
    scope: 'read',
    needsOwner: true,
    paths: { ...MEMBERS, operator: '/app/api/operator/accounts/{account_id}/members' },
    summary: "The account's members, in the order of joining.",
    answers: { 200: listShape(memberShape) },
    problems: ['not_found'],
    async run({ reader, accountId }) {
      const reads = store.pages(reader)
      await foundAccount(reads, accountId)
      const members = await listMembers(reads, accountId)
      return listAnswer(members.map(memberAnswer), null)
    },
  })
}

function change({ store: { db }, clock }: OperationParts) {
  return operation({
    name: 'changeMember',
    method: 'PATCH',
    scope: 'everything',
    needsOwner: true,
    paths: { admin: `${MEMBERS.admin}/{user_id}`, member: `${MEMBERS.member}/{user_id}` },
    summary: 'Change the role of a member. The last owner stays an owner.',
    body: z.strictObject({ role: z.enum(ROLES) }),
    example: { role: 'owner' },
    asksMembers: true,
    answers: { 200: memberShape },
    problems: ['not_found', 'last_owner'],
    takesAccess: true,
    async run({ caller, accountId, param, body: { role }, by }) {
      const userId = param('user_id')
      const changed = { accountId, userId, role, ownerId: ownerOf(caller) }
      const isChanged = await changeMember({ db, clock }, changed, by)
      const members = isChanged ? await listMembers(db, accountId) : []
      const found = members.find((member) => member.userId === userId)
      if (found === undefined) throw notFound('member', userId)
      return memberAnswer(found)
    },
  })
}

function remove({ store: { db }, clock }: OperationParts) {
  return operation({
    name: 'removeMember',
    method: 'DELETE',
    needsOwner: true,
    paths: { member: `${MEMBERS.member}/{user_id}` },
    summary:
      "Remove a member from the account. It takes effect with the member's next call. The last owner cannot be removed.",
    isHarmless: true,
    answers: { 200: removedMemberShape },
    problems: ['not_found', 'last_owner'],
    takesAccess: true,
    async run({ caller, accountId, param, by }) {
      const userId = param('user_id')
      const removed = { accountId, userId, role: null, ownerId: ownerOf(caller) }
      if (!(await changeMember({ db, clock }, removed, by))) throw notFound('member', userId)
      return removedAnswer(userId)
    },
  })
}

function leave({ store: { db }, clock }: OperationParts) {
  return operation({
    name: 'leaveAccount',
    method: 'POST',
    paths: { member: `${MEMBER}/leave` },
    summary: 'Leave the account. The last owner cannot leave.',
    isHarmless: true,
    answers: { 200: removedMemberShape },
    problems: ['not_found', 'last_owner'],
    takesAccess: true,
    async run({ caller: { userId }, accountId }) {
      const left = { accountId, userId, role: null, ownerId: null }
      // An operator can open every account, and is a member of some.
      if (!(await changeMember({ db, clock }, left, null))) throw notFound('member', userId)
      return removedAnswer(userId)
    },
  })
}

function invitations({ store, clock }: OperationParts) {
  return operation({
    name: 'listInvitations',
    method: 'GET',
    needsOwner: true,
    paths: { member: `${MEMBER}/invitations` },
    summary: 'The invitations to the account that can still be accepted, newest first.',
    answers: { 200: listShape(invitationShape) },
    async run({ reader, accountId }) {
      const open = await listInvitations({ db: store.pages(reader), clock }, { accountId })
      return listAnswer(open.map(invitationAnswer), null)
    },
  })
}

function invite(parts: OperationParts) {
  const { ids, clock } = parts
  const { db } = parts.store
  return operation({
    name: 'inviteMember',
    method: 'POST',
    needsOwner: true,
    paths: { member: `${MEMBER}/invitations` },
    summary:
      'Invite a person to the account. If email is set up, the link is only sent to the address; otherwise it is returned, only in this answer. It works once, within 7 days.',
    body: z.strictObject({
      email: emailField.describe('The address of the person.'),
      role: z
        .enum(ROLES)
        .describe(
          'What the person can do in the account: `member` uses keys and Activity, `owner` also credit and members.',
        ),
    }),
    example: { email: 'grace@example.org', role: 'member' },
    asksMembers: true,
    answers: { 201: memberInvitationShape },
    problems: ['too_many_invitations'],
    async run({ caller, accountId, by, body: { email, role } }) {
      const { postLetter } = parts
      // Before its email is counted.
      await refuseTooMany(db, { accountId, nowMs: clock.nowMs() })
      const isMailed = postLetter !== null
      if (isMailed) await countInvitation({ db, clock }, { email, accountId })
      const kind = 'invitation'
      const made = await makeLink(
        { db, ids, clock },
        {
          kind,
          email,
          isOperator: false,
          isVouched: caller.isOperator,
          isMailed,
          inviterId: caller.userId,
          isBounded: true,
          membership: { accountId, role },
        },
        by,
      )
      const { url, ...answer } = linkAnswer(parts, { kind, email, made })
      if (!isMailed) return { ...answer, url, mailed: false }
      const accountName = (await getAccount(db, accountId))?.name ?? null
      const inviter = await getUser(db, caller.userId)
      const { serviceName } = parts
      const { expiresAtMs } = made
      const letter = { to: email, url, inviter, accountName, serviceName, expiresAtMs }
      postLetter(invitationLetter(letter), expiresAtMs)
      return { ...answer, mailed: true }
    },
  })
}

function withdraw({ store: { db }, clock }: OperationParts) {
  return operation({
    name: 'withdrawInvitation',
    method: 'DELETE',
    scope: 'everything',
    needsOwner: true,
    paths: sharedPaths('invitations/{invitation_id}'),
    summary: 'Withdraw an invitation: its link no longer works.',
    isHarmless: true,
    answers: { 200: withdrawnShape },
    problems: ['not_found'],
    takesAccess: true,
    async run({ caller, param, by }) {
      const invitationId = param('invitation_id')
      const accountId = caller.kind === 'member' ? caller.accountId : null
      const isEnded = await withdrawInvitation({ db, clock }, { accountId, invitationId }, by)
      if (!isEnded) throw notFound('open invitation', invitationId)
      return { id: invitationId, object: 'invitation', deleted: true }
    },
  })
}

/** The calling owner; null: an operator or an admin calls. */
function ownerOf(caller: Caller): string | null {
  return isMember(caller) ? caller.userId : null
}

/** An invitation that was just made. */
const memberInvitationShape = linkShape
  .extend({
    url: linkShape.shape.url.optional(),
    mailed: z
      .boolean()
      .describe('Whether the link was emailed to the address. If so, there is no `url`.'),
  })
  .meta({ id: 'MemberInvitation' })

/** A user in an account. */
export const memberShape = z
  .object({
    object: z.literal('member'),
    user_id: idField('user'),
    name: z.string(),
    email: z.string(),
    role: z.enum(ROLES),
    joined_at: timeField.describe('When the person joined the account.'),
  })
  .meta({ id: 'Member' })

function memberAnswer(member: Member): z.infer<typeof memberShape> {
  const { userId, name, email, role, joinedAtMs } = member
  return { object: 'member', user_id: userId, name, email, role, joined_at: timeAnswer(joinedAtMs) }
}

const removedMemberShape = z.object({
  user_id: idField('user'),
  object: z.literal('member'),
  deleted: z.literal(true),
})

function removedAnswer(userId: string): z.infer<typeof removedMemberShape> {
  return { user_id: userId, object: 'member', deleted: true }
}

/** An invitation that was withdrawn. */
export const withdrawnShape = z.object({
  id: idField('link'),
  object: z.literal('invitation'),
  deleted: z.literal(true),
})
