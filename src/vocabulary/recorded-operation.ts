/** The records of operators' sign-ins, and of failed attempts at them. */
export const SIGN_IN_RECORDS = ['failedSignIn', 'signIn'] as const

/**
 * The operations whose changes by operators and admin tokens are recorded: every one that changes something; and
 * {@link SIGN_IN_RECORDS}. Only gateways do `endSignIn`, after a failover, users
 * `changeEmail`, of their own address, and operators `changeName`, of their own name.
 */
export const RECORDED_OPERATIONS = [
  'addCredit',
  'changeAccount',
  'changeBilling',
  'changeEmail',
  'changeKey',
  'changeMember',
  'changeName',
  'changeWebhook',
  'checkSale',
  'createAccount',
  'createAdminToken',
  'createCode',
  'createInvitation',
  'createKey',
  'createOwnAccount',
  'createPurchase',
  'createResetLink',
  'createWebhook',
  'creditPurchase',
  'deleteKey',
  'deleteWebhook',
  'dismissPurchase',
  'endSignIn',
  'failedSignIn',
  'inviteMember',
  'leaveAccount',
  'playground',
  'redeemCode',
  'refreshCatalog',
  'removeMember',
  'removeUser',
  'revokeAdminToken',
  'revokeCode',
  'rotateKey',
  'setMaintenance',
  'settleRequest',
  'signIn',
  'testWebhook',
  'withdrawInvitation',
] as const

/** The name of a recorded operation. */
export type RecordedOperation = (typeof RECORDED_OPERATIONS)[number]

const MONEY: ReadonlySet<string> = new Set([
  'allowance',
  'balance',
  'charge',
  'credit_limit',
  'low_balance',
])

/** Whether a recorded field of this name is an amount in micro-dollars. */
export function isRecordedMoney(field: string): boolean {
  return MONEY.has(field)
}

/** The name under which changes by commands of `tollgate` are recorded. */
export const COMMAND_LINE = 'command line'

/** The name under which changes are recorded that a gateway repeats because the database had lost them. */
export const GATEWAY = 'gateway'
