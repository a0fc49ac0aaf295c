import type { Factors } from '../../api/answers.ts'
import { ago } from '../../format/time.ts'
import { RowButton } from '../../parts/buttons.tsx'
import { Time } from '../../parts/time.tsx'

/** A second factor of the user. */
export type Factor = Factors['data'][number]

interface FactorLinesProps {
  readonly factors: Factors
  readonly onRemove: (factor: Factor) => void
  readonly onRenew: () => void
}

/** The second factors of the user, and how many recovery codes are left. */
export function FactorLines({ factors, onRemove, onRenew }: FactorLinesProps) {
  const { data, recovery_codes_left: codesLeft, passkey_host: host } = factors
  return (
    <ul className="owned">
      {data.map((factor) => (
        <FactorLine key={factor.id} factor={factor} host={host} onRemove={() => onRemove(factor)} />
      ))}
      <li>
        <span>
          <b>Recovery codes</b>
          <span className="two">{codesLeft} of 10 left</span>
        </span>
        <button type="button" className="btn" onClick={onRenew}>
          Make new codes
        </button>
      </li>
    </ul>
  )
}

interface FactorLineProps {
  readonly factor: Factor
  /** The host of the page. */
  readonly host: string | null
  readonly onRemove: () => void
}

function FactorLine({ factor, host, onRemove }: FactorLineProps) {
  const { created_at: createdAt, last_used_at: lastUsedAt } = factor
  return (
    <li>
      <span className="min-w-0">
        <b className="break-words">{factor.name ?? 'Authenticator app'}</b>
        <span className="two">
          {factor.kind === 'passkey' && 'Passkey · '}
          {factor.host !== null && factor.host !== host && `at ${factor.host} · `}
          {lastUsedAt === null ? 'Added ' : 'Last used '}
          <Time at={lastUsedAt ?? createdAt} show={ago} />
        </span>
      </span>
      <RowButton text="Remove" of={titleOf(factor)} onClick={onRemove} />
    </li>
  )
}

/** `the passkey Firefox on Linux`. */
export function titleOf({ kind, name }: Factor): string {
  switch (kind) {
    case 'app':
      return 'the authenticator app'
    case 'passkey':
      return `the passkey ${name}`
  }
}
