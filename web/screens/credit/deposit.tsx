import { useQuery } from '@tanstack/react-query'
import { showDollarText } from '../../../src/vocabulary/money.ts'
import { type DepositMethod, depositAddress, quoteQuery, type SaleMethod } from '../../api/sale.ts'
import { money } from '../../format/money.ts'
import { percentOf } from '../../format/numbers.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { CloseFooter } from '../../parts/dialog.tsx'
import { Line } from '../../parts/drawer-part.tsx'
import { Prose } from '../../parts/prose.tsx'
import { QrCode } from '../../parts/qr-code.tsx'
import { Failed, GreyForm } from '../../parts/states.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { chainName } from './purchase-words.ts'

interface DepositProps {
  readonly method: Extract<SaleMethod, { kind: 'deposit' }>
  readonly onClose: () => void
}

/** The address of the account, as a QR code and as text, and the tokens that can be sent there. */
export function Deposit({ method, onClose }: DepositProps) {
  const accountId = useAccountId()
  const query = useQuery({
    queryKey: ['deposit', accountId, method.id],
    queryFn: () => depositAddress({ account_id: accountId, method: method.id }),
    // The address of an account never changes.
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (query.data === undefined) {
    return (
      <>
        {query.isError ? (
          <Failed what="The address could not be loaded." query={query} />
        ) : (
          <GreyForm />
        )}
        <CloseFooter />
      </>
    )
  }
  const { address, uri } = query.data
  const chain = chainName(method.chain_id)
  return (
    <>
      <div className="deposit">
        <QrCode text={uri} label={`Address to send ${method.token} on ${chain} to`} />
        <div className="grid min-w-0 content-start gap-2">
          <h3 className="lab">Address of this account</h3>
          <p className="mono address">
            {groupsOf(address).map(({ at, text }) => (
              <span key={at}>{text}</span>
            ))}
          </p>
          <CopyButton text={address} label="Copy the address" className="justify-self-start" />
        </div>
      </div>
      <p>
        <b>
          Send only {method.token} on {chain} to this address.
        </b>{' '}
        Another token, or {method.token} on another network, is not credited.
      </p>
      <Terms method={method} />
      <footer>
        <button type="button" className="btn pri" onClick={onClose}>
          Done
        </button>
      </footer>
    </>
  )
}

/** The least deposit, in tokens: the fee and the rate are in its quote. */
function Terms({ method }: { method: DepositMethod }) {
  const quote = useQuery(quoteQuery(method.id, method.minimum))
  // A token has up to 18 decimal places: zeros after the second are left out.
  const amount = quote.data?.pay.amount.replace(/(\.\d\d\d*?)0+$/, '$1')
  const least = amount && `${amount} ${method.token}, for `
  return (
    <dl className="kv">
      <Line term="At least">
        {least}
        {money(method.minimum)} of credit
      </Line>
      <Line term="Rate">
        <span aria-live="polite">
          {quote.data !== undefined ? (
            `1 ${method.token} is ${showDollarText(quote.data.rate)} of credit`
          ) : quote.isError ? (
            <Prose text={quote.error.message} />
          ) : (
            '…'
          )}
        </span>
      </Line>
      {method.fee_bps > 0 && <Line term="Fee">{percentOf(method.fee_bps)} of the deposit</Line>}
      <Line term="Credited">{creditedWhen(method.confirm)}</Line>
      <Line term="Contract">
        <span className="mono">{method.token_address}</span>
      </Line>
    </dl>
  )
}

function creditedWhen(confirm: string): string {
  if (confirm === 'finalized') return 'once its block is final, about 15 to 30 minutes'
  if (confirm === 'safe') return 'once its block is safe, a few minutes'
  return `after ${confirm} more blocks`
}

const GROUP_CHARS = 4

/** `0x`, then groups of four, which are easy to compare. */
function groupsOf(address: string): readonly { readonly at: number; readonly text: string }[] {
  const groups = [{ at: 0, text: address.slice(0, 2) }]
  for (let at = 2; at < address.length; at += GROUP_CHARS) {
    groups.push({ at, text: address.slice(at, at + GROUP_CHARS) })
  }
  return groups
}
