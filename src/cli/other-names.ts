/** Commands that other programs have, and what to use here. */
export const OTHER_NAMES: readonly {
  readonly names: readonly string[]
  readonly meant: string
}[] = [
  { names: ['start', 'run', 'server', 'up'], meant: '`tollgate serve` starts the gateway' },
  {
    names: ['model', 'models', 'price', 'prices', 'pricing'],
    meant: '`tollgate catalog list` shows the models and their prices',
  },
  {
    names: ['fee', 'fees', 'margin', 'markup'],
    meant:
      '`tollgate account update <account> --fee 12` sets the fee of an account, and TOLLGATE_FEE_BPS that of all others: 1200 is 12%',
  },
  {
    names: ['refund', 'chargeback'],
    meant:
      '`tollgate credit add <account> -5 --reference refund-1` removes credit; pay the money back at the card provider',
  },
  {
    names: ['restore'],
    meant:
      'a backup is a whole store: stop the server, put a copy of the backup in the place of the store, and run `tollgate serve`',
  },
  {
    names: ['invite', 'member', 'members', 'operator', 'people'],
    meant: '`tollgate user --help` shows how to list and invite people',
  },
  {
    names: ['code', 'codes', 'voucher', 'coupon', 'redeem'],
    meant: '`tollgate credit --help` shows how to create and redeem credit codes',
  },
  {
    names: ['balance', 'customer', 'customers', 'team', 'teams'],
    meant: '`tollgate account list` shows the accounts with their credit',
  },
  {
    names: ['receipt', 'receipts', 'invoice', 'invoices', 'payment', 'payments'],
    meant: '`tollgate purchase list` shows the purchases with their receipts',
  },
  {
    names: ['log', 'logs', 'history'],
    meant: '`tollgate request list` shows the requests, and `tollgate action list` the audit log',
  },
  {
    names: ['report', 'stats', 'spend', 'costs', 'cost'],
    meant: '`tollgate usage` shows requests, charges and margin',
  },
  { names: ['provider', 'providers'], meant: '`tollgate upstream list` shows the upstreams' },
  {
    names: ['status', 'health', 'check', 'config'],
    meant: '`tollgate doctor` checks the settings, the store and the upstreams',
  },
  { names: ['migrate'], meant: '`tollgate serve` migrates the store when it starts' },
]
