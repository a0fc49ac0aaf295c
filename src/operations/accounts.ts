import { z } from 'zod'
import { getAccount, listAccounts } from '../ledger/accounts.ts'
import { getCredits } from '../ledger/activity/activity.ts'
import type { AccountRow } from '../store/schema.ts'
import { accountAnswer, accountShape } from './answers/account.ts'
import { listAnswer, listShape } from './answers/list.ts'
import { notFound } from './not-found.ts'
import { type Operation, operation } from './operation.ts'
import type { OperationParts } from './operation-parts.ts'
import { emailField, idCursor, nameField, pageQuery } from './request-fields.ts'

/** Who owns credit. */
export function accountOperations(parts: OperationParts): readonly Operation[] {
  return [create(parts), list(parts), show(parts), change(parts)]
}

function create(parts: OperationParts): Operation {
  return operation({
    name: 'createAccount',
    method: 'POST',
    paths: { admin: '/v1/admin/accounts' },
    summary: 'Create an account without credit.',
    body: z.strictObject({ name: nameField, email: emailField.nullish() }),
    example: { name: 'Ada Lovelace' },
    answers: { 201: accountShape },
    async run({ body: { name, email } }) {
      const account = await parts.books.createAccount({
        id: parts.ids.next('acct'),
        name,
        email: email ?? null,
      })
      return { httpStatus: 201, body: await answerOf(parts, account) }
    },
  })
}

function list(parts: OperationParts): Operation {
  const { store, clock } = parts
  return operation({
    name: 'listAccounts',
    method: 'GET',
    paths: { admin: '/v1/admin/accounts' },
    summary: 'Accounts with their credit, newest first.',
    query: pageQuery('accounts', {}),
    answers: { 200: listShape(accountShape) },
    async run({ query: { limit, cursor } }) {
      const page = await listAccounts(store.reports, { limit, cursor: cursor ?? null })
      const accountIds = page.accounts.map(({ id }) => id)
      const credits = await getCredits(store.reports, { accountIds, nowMs: clock.nowMs() })
      const answers = page.accounts.flatMap((account) => {
        const purses = credits.get(account.id)
        return purses === undefined ? [] : [accountAnswer(account, purses)]
      })
      return { httpStatus: 200, body: listAnswer(answers, idCursor('accounts', page.nextCursor)) }
    },
  })
}

function show(parts: OperationParts): Operation {
  return operation({
    name: 'getAccount',
    method: 'GET',
    paths: { admin: '/v1/admin/accounts/{account_id}' },
    summary: 'One account with its credit.',
    answers: { 200: accountShape },
    problems: ['not_found'],
    async run({ accountId }) {
      const account = await getAccount(parts.store.db, accountId)
      if (account === null) throw notFound('account', accountId)
      return { httpStatus: 200, body: await answerOf(parts, account) }
    },
  })
}

function change(parts: OperationParts): Operation {
  return operation({
    name: 'changeAccount',
    method: 'PATCH',
    paths: { admin: '/v1/admin/accounts/{account_id}' },
    summary: 'Change the given fields of an account. The keys of a disabled account are refused.',
    body: z.strictObject({
      name: nameField.optional(),
      email: emailField.nullable().optional(),
      disabled: z.boolean().optional(),
    }),
    example: { disabled: false },
    answers: { 200: accountShape },
    problems: ['not_found'],
    async run({ accountId, body: { name, email, disabled } }) {
      const account = await parts.books.updateAccount({
        id: accountId,
        ...(name === undefined ? {} : { name }),
        ...(email === undefined ? {} : { email }),
        ...(disabled === undefined ? {} : { disabled }),
      })
      if (account === null) throw notFound('account', accountId)
      await parts.onCallersChanged()
      return { httpStatus: 200, body: await answerOf(parts, account) }
    },
  })
}

async function answerOf({ store, clock }: OperationParts, account: AccountRow): Promise<object> {
  const input = { accountIds: [account.id], nowMs: clock.nowMs() }
  const purses = (await getCredits(store.db, input)).get(account.id)
  if (purses === undefined) throw notFound('account', account.id)
  return accountAnswer(account, purses)
}
