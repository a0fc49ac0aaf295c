import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { accountsQuery, oneAccountQuery } from '../api/operator.ts'
import { shortId } from '../format/ids.ts'
import { Icon } from './icon.tsx'
import { MenuFind } from './menu-find.tsx'
import { Popover } from './popover.tsx'
import { PartFailed } from './states.tsx'
import { useSettled } from './use-settled.ts'

interface PickAccountProps {
  /** Undefined: all accounts. */
  readonly accountId: string | undefined
  readonly onChange: (accountId: string | undefined) => void
}

/** One account of all, found by its name, email or ID. */
export function PickAccount({ accountId, onChange }: PickAccountProps) {
  const { data } = useQuery({
    ...oneAccountQuery(accountId ?? ''),
    enabled: accountId !== undefined,
    refetchInterval: false,
  })
  return (
    <Popover
      label="Account"
      button={(button) => (
        <button type="button" className={accountId === undefined ? 'pill' : 'pill on'} {...button}>
          {accountId === undefined ? (
            'Account'
          ) : (
            <>
              Account: <em>{data?.name ?? shortId(accountId)}</em>
            </>
          )}
        </button>
      )}
    >
      {(close) => (
        <Found
          accountId={accountId}
          hasAll
          onChange={(id) => {
            close()
            onChange(id)
          }}
        />
      )}
    </Popover>
  )
}

interface ChooseAccountProps {
  /** Default: none is chosen. */
  readonly accountId?: string
  /** The class of the button. */
  readonly className: string
  /** The content of the button. */
  readonly children: ReactNode
  readonly onChoose: (accountId: string) => void
}

/** A button that asks for one account. */
export function ChooseAccount({ accountId, className, children, onChoose }: ChooseAccountProps) {
  return (
    <Popover
      label="Account"
      button={(button) => (
        <button type="button" className={className} {...button}>
          {children}
        </button>
      )}
    >
      {(close) => (
        <Found
          accountId={accountId}
          hasAll={false}
          onChange={(id) => {
            close()
            if (id !== undefined) onChoose(id)
          }}
        />
      )}
    </Popover>
  )
}

const SEARCH_AFTER_MS = 150
const SHOWN_MAX = 20

interface FoundProps extends PickAccountProps {
  /** Whether all accounts can be chosen too. */
  readonly hasAll: boolean
}

function Found({ accountId, hasAll, onChange }: FoundProps) {
  const [text, setText] = useState('')
  const query = useInfiniteQuery(accountsQuery(useSettled(text.trim(), SEARCH_AFTER_MS)))
  const { data, hasNextPage } = query
  const found = data?.pages.flatMap((page) => page.data) ?? []
  return (
    <>
      <MenuFind label="Search accounts" value={text} onChange={setText} />
      <PartFailed what="The accounts" query={query} />
      {found.slice(0, SHOWN_MAX).map(({ id, name }) => (
        <button
          key={id}
          type="button"
          className="menu-item"
          aria-pressed={id === accountId}
          title={name}
          onClick={() => onChange(id)}
        >
          <span className="flex-1">{name}</span>
          {id === accountId && <Icon name="check" small />}
        </button>
      ))}
      {(found.length > SHOWN_MAX || hasNextPage) && (
        <p className="note px-2.5 py-2">More accounts: type to find them.</p>
      )}
      {data !== undefined && found.length === 0 && (
        <p className="note px-2.5 py-2">No account matches “{text.trim()}”.</p>
      )}
      {hasAll && accountId !== undefined && (
        <>
          <div className="menu-rule" />
          <button type="button" className="menu-item" onClick={() => onChange(undefined)}>
            <Icon name="close" small /> <span>All accounts</span>
          </button>
        </>
      )}
    </>
  )
}
