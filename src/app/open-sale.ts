import { PlayCard } from '../sale/card/play.ts'
import { CardPoll } from '../sale/card-poll.ts'
import { Sale } from '../sale/sale.ts'
import { pageUrlOf } from './config.ts'
import type { HttpParts } from './open-http.ts'
import type { Wiring } from './wiring.ts'

/** The sale of credit, and the pages of play money; null where nothing is sold. */
export function openSale(
  { config, address, clock, ids, log, closing }: Wiring,
  { store, ledger, authenticator }: Pick<HttpParts, 'store' | 'ledger' | 'authenticator'>,
): { readonly sale: Sale; readonly card: PlayCard } | null {
  if (address.mode !== 'simulator') return null
  const { db } = store
  const card = new PlayCard({ db, clock, publicUrl: pageUrlOf(config) })
  const sale = new Sale({
    card,
    db,
    ledger,
    ids,
    clock,
    onCreditChanged: async (accountId) => authenticator.forget({ accountId }),
  })
  const poll = new CardPoll({
    db,
    sale,
    onFailure: (source, cause) =>
      log.warn({ source, cause: String(cause) }, 'open purchases could not be looked at'),
  })
  closing.defer(() => poll.stop())
  poll.start()
  return { sale, card }
}
