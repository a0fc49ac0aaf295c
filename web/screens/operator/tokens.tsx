import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { asOperator } from '../../api/calls.ts'
import { type AdminToken, tokensQuery } from '../../api/operator.ts'
import { dayOf } from '../../format/time.ts'
import { RowButton } from '../../parts/buttons.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { LastUsed } from '../../parts/last-used.tsx'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { useNow } from '../../parts/now.ts'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { OPERATOR_READS } from './use-operator-write.ts'

const HEADS = [
  { text: 'Token' },
  { text: 'State' },
  { text: 'Scopes' },
  { text: 'Expires', className: 'hide-m' },
  { text: 'Last used' },
  { text: 'Revoke', isHidden: true },
] as const

/** The tokens of the admin API: scopes, last use, and revoking. The command line creates them. */
export function TokensScreen() {
  const [revoking, setRevoking] = useState<AdminToken | null>(null)
  const query = useInfiniteQuery(tokensQuery)
  return (
    <>
      <ScreenTop title="Admin tokens" />
      <p className="note mb-4">
        Programs call /v1/admin with these tokens. The token in the settings is not listed. Create
        tokens on the gateway’s machine: <code>tollgate token create</code>.
      </p>
      <ListCard
        label="Admin tokens"
        query={query}
        rows={query.data?.pages.flatMap(({ data }) => data)}
        empty={<NoTokens />}
        heads={HEADS}
        greyRows={4}
        row={(token) => <TokenRow key={token.id} token={token} onRevoke={setRevoking} />}
      >
        <Older query={query} noun="token" />
      </ListCard>
      {revoking !== null && (
        <Confirm
          title={`Revoke the token “${revoking.name}”?`}
          submit="Revoke"
          isDangerous
          send={() => asOperator('revokeAdminToken', { token_id: revoking.id })}
          reads={OPERATOR_READS}
          done="Token revoked."
          onClose={() => setRevoking(null)}
        >
          <p>
            From now on, calls with this token are answered with 401, and so are calls with tokens
            created by it. Open invitations and password links that these tokens created no longer
            work. Other changes stay.
          </p>
        </Confirm>
      )}
    </>
  )
}

function NoTokens() {
  return (
    <Empty title="No tokens yet.">
      <p>Give each program its own admin token, with only the scopes that it needs.</p>
    </Empty>
  )
}

interface TokenRowProps {
  readonly token: AdminToken
  readonly onRevoke: (token: AdminToken) => void
}

function TokenRow({ token, onRevoke }: TokenRowProps) {
  const now = useNow()
  const { name, prefix, scopes, expires_at: expiresAt } = token
  const { word, tone } = tokenState(token, now)
  return (
    <tr className={word === 'Active' ? '' : 'dim'}>
      <td className="name">
        <b title={name}>{name}</b>
        <span className="two mono">{prefix}</span>
        {token.made_by !== null && <span className="two">created by another token</span>}
      </td>
      <td className="end">
        <span className={`chip ${tone}`}>{word}</span>
      </td>
      <td className="wide">{scopes.join(', ')}</td>
      <td className="hide-m">
        {expiresAt === null ? (
          <span className="dimmed">No expiry</span>
        ) : (
          <>
            <span className="only-s dimmed">{word === 'Expired' ? 'Expired' : 'Expires'} </span>
            <Time at={expiresAt} show={dayOf} />
          </>
        )}
      </td>
      <td className="end text-ink-2">
        <LastUsed at={token.last_used_at} />
      </td>
      <td className="num wide">
        {word === 'Active' && (
          <RowButton text="Revoke" of={`the token ${name}`} onClick={() => onRevoke(token)} />
        )}
      </td>
    </tr>
  )
}

function tokenState({ revoked_at: revokedAt, expires_at: expiresAt }: AdminToken, now: Date) {
  if (revokedAt !== null) return { word: 'Revoked', tone: 'off' }
  if (expiresAt !== null && new Date(expiresAt) <= now) return { word: 'Expired', tone: 'off' }
  return { word: 'Active', tone: 'good' }
}
