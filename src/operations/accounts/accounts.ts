import { z } from 'zod'
import { getAccount } from '../../ledger/accounts.ts'
import { type AccountCredit, getCredits, type PurseBalance } from '../../ledger/activity/balance.ts'
import type { OperatorAction } from '../../ledger/operator-actions.ts'
import type { AccountRow } from '../../store/schema.ts'
import { invalidParameter, Problem } from '../../vocabulary/problem.ts'
import { TEXT_CHARS_MAX } from '../../vocabulary/text-chars.ts'
import { requireScope } from '../caller.ts'
import { given, hasOnly } from '../check-input.ts'
import { billingAnswer, billingField, billingShape } from '../credit/billing.ts'
import {
  amountField,
  emailField,
  externalIdField,
  feeField,
  feeShape,
  idField,
  moneyField,
  nameField,
  text,
  timeAnswer,
  timeField,
  timeOrNull,
} from '../fields.ts'
import { foundAccount, notFound } from '../not-found.ts'
import { type Answered, operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { accountPaths, staffPaths } from '../paths.ts'
import { limitChanges, limitFields, limitShapes, limitsAnswer } from './limits.ts'
import { metadataAnswer, metadataField, metadataShape } from './metadata.ts'
import { modelListsOf, modelsAnswer, modelsField, modelsShape } from './model-lists.ts'

/** Accounts, which own credit. */
export function accountOperations(parts: OperationParts) {
  return [create(parts), createOwn(parts), show(parts), change(parts)]
}

function create(parts: OperationParts) {
  return operation({
    name: 'createAccount',
    method: 'POST',
    scope: 'keys',
    paths: staffPaths('accounts'),
    summary:
      'Create an account without credit. If an account already has the `external_id`, it is returned unchanged with 200.',
    body: newAccountBody.extend({
      external_id: externalIdField
        .nullish()
        .describe('The ID of the account in another system. Absent or null: none.'),
    }),
    example: { name: 'Ada Lovelace' },
    answers: { 200: accountShape, 201: accountShape },
    async run({ caller, by, body }) {
      // A fee changes charges, so it needs the scope for credit.
      if (body.fee_basis_points !== undefined) requireScope(caller, 'credit')
      return made(parts, { ...body, ownerId: null }, by)
    },
  })
}

function createOwn(parts: OperationParts) {
  return operation({
    name: 'createOwnAccount',
    method: 'POST',
    paths: { operator: '/app/api/operator/own-accounts' },
    summary: 'Create an account that the calling operator owns, without credit.',
    body: newAccountBody,
    example: { name: 'Ada Lovelace' },
    answers: { 201: accountShape },
    async run({ caller: { userId: ownerId }, by, body }) {
      const { body: answer } = await made(parts, { ...body, ownerId }, by)
      return answer
    },
  })
}

const lowBalanceField = amountField
  .nullable()
  .optional()
  .describe(
    'Webhooks report low credit when paid credit falls below this amount, in micro-dollars. Null: $5.',
  )

const newAccountBody = z.strictObject({
  name: nameField,
  email: emailField.nullish().describe('An email address. Absent or null: none.'),
  fee_basis_points: feeField.optional(),
  models: modelsField,
  ...limitFields,
  metadata: metadataField,
  billing: billingField,
  low_balance: lowBalanceField,
})

async function made(
  parts: OperationParts,
  fields: z.output<typeof newAccountBody> & {
    readonly external_id?: string | null | undefined
    readonly ownerId: string | null
  },
  by: OperatorAction | null,
): Promise<Answered> {
  const accountId = parts.ids.next('acct')
  const account = await parts.ledger.createAccount(
    {
      id: accountId,
      name: fields.name,
      email: fields.email ?? null,
      ownerId: fields.ownerId,
      feeBasisPoints: fields.fee_basis_points ?? null,
      ...modelListsOf(fields.models),
      ...limitChanges(fields, null),
      externalId: fields.external_id ?? null,
      metadataJson: fields.metadata ?? null,
      billingJson: fields.billing ?? null,
      lowBalanceMicros: fields.low_balance ?? null,
    },
    by,
  )
  return { httpStatus: account.id === accountId ? 201 : 200, body: await answerOf(parts, account) }
}

function show(parts: OperationParts) {
  return operation({
    name: 'getAccount',
    method: 'GET',
    scope: 'read',
    paths: accountPaths(''),
    summary: 'One account with its credit.',
    answers: { 200: accountShape },
    problems: ['not_found'],
    async run({ reader, caller, accountId }) {
      const reads = readsFor({ caller, reader }, parts.store)
      const account = await foundAccount(reads, accountId)
      return await answerOf({ ...parts, reads }, account)
    },
  })
}

function change(parts: OperationParts) {
  return operation({
    name: 'changeAccount',
    method: 'PATCH',
    scope: 'keys',
    paths: staffPaths('accounts/{account_id}'),
    summary:
      'Change the given fields of an account. `disabled: true` suspends it: its keys are refused.',
    body: z.strictObject({
      name: nameField.optional(),
      email: emailField.nullable().optional().describe('An email address; null: none.'),
      disabled: z.boolean().optional(),
      note: text({ charsMax: TEXT_CHARS_MAX.suspensionNote })
        .nullable()
        .optional()
        .describe(
          `Why the account is suspended or resumed, at most ${TEXT_CHARS_MAX.suspensionNote} characters. The audit log has it; the members can read that of a suspension until the account is resumed, and the owners later too. Only with \`disabled\`. Null: no reason.`,
        ),
      fee_basis_points: feeField.optional(),
      models: modelsField,
      ...limitFields,
      external_id: externalIdField
        .nullable()
        .optional()
        .describe('The ID of the account in another system; null: none.'),
      metadata: metadataField,
      billing: billingField,
      low_balance: lowBalanceField,
    }),
    example: { disabled: false },
    isHarmless: ({ disabled, ...rest }) =>
      disabled !== false && hasOnly(rest, ['name', 'metadata', 'billing', 'note']),
    answers: { 200: accountShape },
    problems: ['not_found', 'external_id_taken'],
    async run({ caller, accountId, by, body }) {
      if (body.note !== undefined && body.disabled === undefined) {
        throw invalidParameter('note', '`note` can be given only with `disabled`.')
      }
      if (body.fee_basis_points !== undefined) requireScope(caller, 'credit')
      // A new amount alone must not move the days of the allowance to another time zone.
      const before = body.allowance == null ? null : await getAccount(parts.store.db, accountId)
      const changes = {
        id: accountId,
        ...given({
          name: body.name,
          email: body.email,
          disabled: body.disabled,
          disabledNote: body.note,
          feeBasisPoints: body.fee_basis_points,
          ...modelListsOf(body.models),
          ...limitChanges(body, before),
          lowBalanceMicros: body.low_balance,
          externalId: body.external_id,
          metadataJson: body.metadata,
          billingJson: body.billing,
        }),
      }
      const account = await parts.ledger.updateAccount(changes, by)
      if (account === 'externalIdTaken') {
        throw new Problem('external_id_taken', { param: 'external_id' })
      }
      if (account === null) throw notFound('account', accountId)
      await parts.onCallersChanged({ accountId })
      return await answerOf(parts, account)
    },
  })
}

async function answerOf(
  {
    store,
    clock,
    reads = store.db,
  }: OperationParts & { readonly reads?: OperationParts['store']['db'] },
  account: AccountRow,
): Promise<object> {
  const nowMs = clock.nowMs()
  const purses = (await getCredits(reads, { accountIds: [account.id], nowMs })).get(account.id)
  if (purses === undefined) throw notFound('account', account.id)
  return accountAnswer(account, purses, nowMs)
}

const purse = {
  balance: moneyField.describe('The sum of the entries of the purse, in micro-dollars.'),
  held: moneyField.describe(
    'The credit held for open, provisional and unresolved requests, in micro-dollars.',
  ),
  available: moneyField.describe(
    'The balance less held credit, never below zero, in micro-dollars.',
  ),
}

/** The two purses of an account. */
export const creditShape = z.object({
  backed: z.object(purse),
  free: z.object({
    ...purse,
    expires_at: timeField
      .nullable()
      .describe('When the free credit expires, all of it together; null: there is none.'),
  }),
})

/** An account with its credit. */
export const accountShape = z
  .object({
    id: idField('acct'),
    object: z.literal('account'),
    name: z.string(),
    email: z.string().nullable().describe('An email address; null: none.'),
    state: z
      .enum(['active', 'suspended'])
      .describe('`suspended`: requests with all of its keys are refused.'),
    disabled: z.boolean().describe('Whether the account is suspended: its keys are refused.'),
    disabled_at: timeField
      .nullable()
      .describe('When it was suspended; null: it is not suspended, or was suspended before 0.3.0.'),
    disabled_note: z
      .string()
      .nullable()
      .describe('Why it is suspended; its members can read it. Null: no reason was given.'),
    fee_basis_points: feeShape
      .nullable()
      .describe(
        "The platform fee of its requests, in hundredths of a percent of the provider's cost; null: that of the model.",
      ),
    models: modelsShape,
    low_balance: moneyField
      .nullable()
      .describe(
        'Webhooks report low credit when paid credit falls below this amount, in micro-dollars; null: $5.',
      ),
    external_id: z
      .string()
      .nullable()
      .describe(
        'The ID of the account in another system; no two accounts have the same. Null: it has none.',
      ),
    metadata: metadataShape,
    billing: billingShape,
    credit: creditShape,
    has_backed_credit: z.boolean().describe('Whether the account ever had paid credit.'),
    ...limitShapes,
    created_at: timeField,
  })
  .meta({ id: 'Account' })

/** An account as responses have it. */
export function accountAnswer(
  account: AccountRow,
  purses: AccountCredit,
  nowMs: number,
): z.infer<typeof accountShape> {
  return {
    id: account.id,
    object: 'account',
    name: account.name,
    email: account.email,
    state: account.disabled ? 'suspended' : 'active',
    disabled: account.disabled,
    disabled_at: timeOrNull(account.disabledAtMs),
    disabled_note: account.disabledNote,
    fee_basis_points: account.feeBasisPoints,
    models: modelsAnswer(account),
    low_balance: account.lowBalanceMicros,
    external_id: account.externalId,
    metadata: metadataAnswer(account.metadataJson),
    billing: billingAnswer(account.billingJson),
    credit: creditAnswer(purses),
    has_backed_credit: purses.hasBackedCredit,
    ...limitsAnswer(account, nowMs),
    created_at: timeAnswer(account.createdAtMs),
  }
}

/** The two purses as responses have them. */
export function creditAnswer({
  backed,
  free,
}: Pick<AccountCredit, 'backed' | 'free'>): z.infer<typeof creditShape> {
  return {
    backed: purseAnswer(backed),
    free: { ...purseAnswer(free), expires_at: timeOrNull(free.expiresAtMs) },
  }
}

function purseAnswer({ balanceMicros, heldMicros, availableMicros }: PurseBalance) {
  return { balance: balanceMicros, held: heldMicros, available: availableMicros }
}
