import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { asOperator } from '../../api/calls.ts'
import { type CreatedCode, type CreditCode, codesQuery } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { dayOf } from '../../format/time.ts'
import { AddButton, RowButton } from '../../parts/buttons.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { MadeSecret } from '../../parts/made-secret.tsx'
import { useNow } from '../../parts/now.ts'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useMade } from '../../parts/use-made.ts'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { CreateCode } from './create-code.tsx'
import { OPERATOR_READS } from './use-operator-write.ts'

/** Credit codes: making, listing and revoking them, for operators. */
export function CodesScreen() {
  const [isCreating, setCreating] = useState(false)
  const made = useMade<CreatedCode>()
  const end = (codeId: string) => made.end(({ id }) => id === codeId)
  return (
    <>
      <ScreenTop title="Credit codes">
        <AddButton onClick={() => setCreating(true)}>Create code</AddButton>
      </ScreenTop>
      {made.things.map(({ id, amount, code }) => (
        <MadeSecret
          key={id}
          title={`A code of ${money(amount)} is ready`}
          text={code}
          noun="code"
          onDone={() => end(id)}
        />
      ))}
      <CodeTable onRevoked={end} />
      {isCreating && (
        <CreateCode
          onClose={() => setCreating(false)}
          onMade={(code) => {
            made.add(code)
            setCreating(false)
          }}
        />
      )}
    </>
  )
}

const HEADS = [
  { text: 'Code' },
  { text: 'Amount', className: 'num' },
  { text: 'State' },
  { text: 'Created' },
  { text: 'Revoke', isHidden: true },
] as const

function CodeTable({ onRevoked }: { onRevoked: (codeId: string) => void }) {
  const [revoking, setRevoking] = useState<CreditCode | null>(null)
  const query = useInfiniteQuery(codesQuery)
  return (
    <ListCard
      label="Codes"
      query={query}
      rows={query.data?.pages.flatMap(({ data }) => data)}
      empty={
        <Empty title="No codes yet.">
          <p>A credit code can be redeemed once. Create one and send it to your customer.</p>
        </Empty>
      }
      heads={HEADS}
      greyRows={6}
      row={(code) => <CodeRow key={code.id} code={code} onRevoke={setRevoking} />}
    >
      <Older query={query} noun="code" />
      {revoking !== null && (
        <Confirm
          title={`Revoke the code that ends with ${revoking.suffix}?`}
          submit="Revoke"
          isDangerous
          send={() => asOperator('revokeCode', { code_id: revoking.id })}
          reads={OPERATOR_READS}
          done="Code revoked."
          onDone={() => onRevoked(revoking.id)}
          onClose={() => setRevoking(null)}
        >
          <p>
            The {money(revoking.amount)} can no longer be redeemed. No account has redeemed the code
            so far, so no credit is removed.
          </p>
        </Confirm>
      )}
    </ListCard>
  )
}

interface CodeRowProps {
  readonly code: CreditCode
  readonly onRevoke: (code: CreditCode) => void
}

function CodeRow({ code, onRevoke }: CodeRowProps) {
  const now = useNow()
  const { word, tone } = codeState(code, now)
  return (
    <tr className={word === 'Open' ? '' : 'dim'}>
      <td>
        <b className="mono">…{code.suffix}</b>
        <span className="two">
          {code.expires_at === null ? 'no expiry' : expiryText(new Date(code.expires_at), now)}
        </span>
      </td>
      <td className="num">{money(code.amount)}</td>
      <td>
        <span className={`chip ${tone}`}>{word}</span>{' '}
        {code.redeemed_by !== null && (
          <Link
            className="link"
            to="/operator/accounts/$account"
            params={{ account: code.redeemed_by }}
          >
            Show account
          </Link>
        )}
      </td>
      <td className="text-ink-2">
        <span className="only-s dimmed">Created </span>
        <Time at={code.created_at} show={dayOf} />
      </td>
      <td className="num wide">
        {word === 'Open' && (
          <RowButton
            text="Revoke"
            of={`the code that ends with ${code.suffix}`}
            onClick={() => onRevoke(code)}
          />
        )}
      </td>
    </tr>
  )
}

function codeState(code: CreditCode, now: Date) {
  if (code.redeemed_at !== null) return { word: 'Redeemed', tone: 'info' }
  if (code.revoked_at !== null) return { word: 'Revoked', tone: 'off' }
  if (code.expires_at !== null && new Date(code.expires_at) <= now) {
    return { word: 'Expired', tone: 'off' }
  }
  return { word: 'Open', tone: 'good' }
}

function expiryText(at: Date, now: Date): string {
  return `${at <= now ? 'expired' : 'expires'} ${dayOf(at, now)}`
}
