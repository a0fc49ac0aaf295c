import { z } from 'zod'
import { type CommandRow, show } from '../../src/cli/operation-command.ts'
import { getAccount } from '../../src/ledger/accounts.ts'
import { nameField } from '../../src/operations/fields.ts'
import { notFound } from '../../src/operations/not-found.ts'
import { operation } from '../../src/operations/operation.ts'
import type { OperationParts } from '../../src/operations/operation-parts.ts'
import { OPERATIONS, type OperationSource } from '../../src/operations/operations.ts'

/**
 * Operations that the product does not have, all of them in this file: admins give an account a toy, and
 * admins and the account's keys see how many it has.
 */

const toyShape = z.object({
  object: z.literal('toy'),
  account: z.string(),
  name: nameField.describe('The name of the toy.'),
})

const toysShape = z.object({
  object: z.literal('toys'),
  account: z.string(),
  count: z.int().describe('The number of toys.'),
})

/** The paths at which admins and keys see the toys of an account. */
export const TOY_PATHS = { admin: '/v1/admin/accounts/{account_id}/toys', key: '/v1/toys' } as const

function toyOperations({ store }: OperationParts) {
  const toys = new Map<string, number>()
  const requireAccount = async (id: string): Promise<void> => {
    if ((await getAccount(store.db, id)) === null) throw notFound('account', id)
  }
  return [
    operation({
      name: 'addToy',
      method: 'POST',
      scope: 'keys',
      paths: { admin: TOY_PATHS.admin },
      summary: 'Give an account a toy.',
      body: z.strictObject({ name: nameField }),
      example: { name: 'bear' },
      answers: { 201: toyShape },
      problems: ['not_found'],
      async run({ accountId, body: { name } }) {
        await requireAccount(accountId)
        toys.set(accountId, (toys.get(accountId) ?? 0) + 1)
        return { object: 'toy', account: accountId, name }
      },
    }),
    operation({
      name: 'countToys',
      method: 'GET',
      scope: 'read',
      paths: TOY_PATHS,
      summary: 'The number of toys of an account.',
      answers: { 200: toysShape },
      problems: ['not_found'],
      async run({ accountId }) {
        await requireAccount(accountId)
        const count = toys.get(accountId) ?? 0
        return { object: 'toys', account: accountId, count }
      },
    }),
  ]
}

const toySource: OperationSource = ['Toys', toyOperations]

/** The product's operations and the toys. */
export const WITH_TOY: readonly OperationSource[] = [...OPERATIONS, toySource]

const account = { flags: '<account>', words: 'its ID, acct_…', to: 'params.account_id' } as const

const toyCommands: CommandRow = {
  name: 'toy',
  words: 'toys of accounts',
  commands: [
    {
      name: 'add',
      runs: 'addToy',
      words: 'give an account a toy',
      takes: [account, { flags: '--name <name>', words: 'its name', to: 'body.name' }],
      show: show(toyShape, ({ name }) => ({ out: `added ${name}` })),
    },
    {
      name: 'count',
      runs: 'countToys',
      words: 'count the toys of an account',
      takes: [account],
      show: show(toysShape, ({ count }) => ({ out: String(count) })),
    },
  ],
}

/** The command for toys. */
export const TOY_COMMANDS = { operations: [toySource], commands: [toyCommands] }
