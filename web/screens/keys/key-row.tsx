import { Link } from '@tanstack/react-router'
import type { ApiKey } from '../../api/answers.ts'
import { money } from '../../format/money.ts'
import { ago, dayAndShortMinute, dayOf } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { LastUsed } from '../../parts/last-used.tsx'
import { useNow } from '../../parts/now.ts'
import { Popover } from '../../parts/popover.tsx'
import { AllowanceLine, MetadataLine, OnlyModels } from '../../parts/terms-lines.tsx'
import { Time } from '../../parts/time.tsx'
import { useAccountPaths } from '../../shell/account-screen.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { keyState, remainingMicros } from './key-state.ts'

/** The heads of the table of keys. */
export const KEY_HEADS = [
  { text: 'Key' },
  { text: 'State' },
  { text: 'Spent of limit' },
  { text: 'Held', className: 'num hide-m' },
  { text: 'Expires', className: 'hide-m' },
  { text: 'Last used', className: 'hide-t' },
  { text: 'Actions', isHidden: true },
] as const

interface KeyRowProps {
  readonly apiKey: ApiKey
  /** The available credit of the account; null: not known yet. */
  readonly availableMicros: number | null
  readonly onOpen: (opened: OpenedKey) => void
}

/** A dialog of a key, which shows the key as it was when the dialog was opened. */
export interface OpenedKey {
  readonly what: 'change' | 'rotate' | 'disable' | 'delete'
  readonly apiKey: ApiKey
}

/** A key: on a phone, a card of it. */
export function KeyRow({ apiKey, availableMicros, onOpen }: KeyRowProps) {
  const now = useNow()
  const { word, tone } = keyState(apiKey, now)
  const isDim = word === 'Disabled' || word === 'Expired'
  return (
    <tr className={isDim ? 'dim' : ''}>
      <td className="name">
        <b title={apiKey.name}>{apiKey.name}</b>
        <span className="two mono wrap-anywhere">{apiKey.prefix}</span>
        {apiKey.expires_at !== null && (
          <span className="two min-[1201px]:hidden!">
            {word === 'Expired' ? 'Expired' : 'Expires'}{' '}
            <Time at={apiKey.expires_at} show={dayOf} />
          </span>
        )}
        <span className="two only-t">
          {apiKey.last_used_at === null ? (
            'Never used'
          ) : (
            <>
              Used <Time at={apiKey.last_used_at} show={ago} />
            </>
          )}
        </span>
        <PreviousLine apiKey={apiKey} />
        <OnlyModels models={apiKey.models} />
        <MetadataLine metadata={apiKey.metadata} />
      </td>
      <td>
        <span className={`chip ${tone}`}>{word}</span>
      </td>
      <Spent apiKey={apiKey} availableMicros={availableMicros} />
      <td className="num hide-s hide-m">
        {apiKey.held === 0 ? <span className="dimmed">–</span> : money(apiKey.held)}
      </td>
      <td className="whitespace-nowrap hide-s hide-m">
        {apiKey.expires_at === null ? (
          <span className="dimmed">No expiry</span>
        ) : (
          <Time at={apiKey.expires_at} show={dayOf} />
        )}
      </td>
      <td className="whitespace-nowrap hide-t text-ink-2">
        <LastUsed at={apiKey.last_used_at} />
      </td>
      <td className="num">
        <KeyMenu apiKey={apiKey} onOpen={onOpen} />
      </td>
    </tr>
  )
}

/** Until when the text before the last rotation works. */
function PreviousLine({ apiKey: { previous_expires_at: ends } }: { apiKey: ApiKey }) {
  if (ends === null) return null
  return (
    <span className="two dimmed">
      The old key works until <Time at={ends} show={dayAndShortMinute} />
    </span>
  )
}

const NEAR = 0.85

function Spent({ apiKey, availableMicros }: Omit<KeyRowProps, 'onOpen'>) {
  const { spend, credit_limit: limitMicros } = apiKey
  if (limitMicros === null) {
    return (
      <td className="limit wide">
        <span className="num">{money(spend)}</span> <span className="dimmed">no limit</span>
        <AllowanceLine allowance={apiKey.allowance} />
      </td>
    )
  }
  const part = limitMicros === 0 ? 1 : Math.min(1, spend / limitMicros)
  const left = remainingMicros(apiKey)
  const isBound = availableMicros !== null && left !== null && availableMicros < left
  return (
    <td className={`limit wide ${part >= 1 ? 'full' : part >= NEAR ? 'near' : ''}`}>
      <span className="num">{money(spend)}</span>{' '}
      <span className="dimmed">
        of {money(limitMicros)}
        {isBound && `, the account has ${money(availableMicros)}`}
      </span>
      <span className="share">
        <i style={{ width: `${part * 100}%` }} />
      </span>
      <AllowanceLine allowance={apiKey.allowance} />
    </td>
  )
}

function KeyMenu({ apiKey, onOpen }: Pick<KeyRowProps, 'apiKey' | 'onOpen'>) {
  const account = useAccountId()
  const paths = useAccountPaths()
  const item = (what: OpenedKey['what'], closeMenu: () => void) => () => {
    closeMenu()
    onOpen({ what, apiKey })
  }
  return (
    <Popover
      label={`Actions for ${apiKey.name}`}
      align="end"
      button={(button) => (
        <button
          type="button"
          className="iconb"
          aria-label={`Actions for ${apiKey.name}`}
          {...button}
        >
          <Icon name="more" small />
        </button>
      )}
    >
      {(closeMenu) => (
        <>
          <Link
            className="menu-item"
            to={paths.activity}
            params={{ account }}
            search={{ range: '30d', key: [apiKey.id] }}
          >
            <Icon name="activity" /> <span>View requests</span>
          </Link>
          <button type="button" className="menu-item" onClick={item('change', closeMenu)}>
            <Icon name="pencil" /> <span>Change</span>
          </button>
          {apiKey.prefix !== '' && (
            <button type="button" className="menu-item" onClick={item('rotate', closeMenu)}>
              <Icon name="again" /> <span>Rotate</span>
            </button>
          )}
          <button type="button" className="menu-item" onClick={item('disable', closeMenu)}>
            <Icon name={apiKey.disabled ? 'check' : 'pause'} />
            <span>{apiKey.disabled ? 'Enable' : 'Disable'}</span>
          </button>
          <div className="menu-rule" />
          <button type="button" className="menu-item danger" onClick={item('delete', closeMenu)}>
            <Icon name="bin" /> <span>Delete</span>
          </button>
        </>
      )}
    </Popover>
  )
}
