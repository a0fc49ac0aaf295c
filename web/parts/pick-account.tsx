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
    <ChooseAccount
      accountId={accountId}
      className={accountId === undefined ? 'pill' : 'pill on'}
      onAll={() => onChange(undefined)}
      onChoose={onChange}
    >
      {accountId === undefined ? (
        'Account'
      ) : (
        <>
          Account: <em>{data?.name ?? shortId(accountId)}</em>
        </>
      )}
    </ChooseAccount>
  )
}

interface ChooseAccountProps {
  /** Default: none is chosen. */
  readonly accountId?: string | undefined
  /** The class of the button. */
  readonly className: string
  /** The content of the button. */
  readonly children: ReactNode
  /** Chooses all accounts. Default: they can't be chosen. */
  readonly onAll?: () => void
  readonly onChoose: (accountId: string) => void
}

/** A button that asks for one account. */
export function ChooseAccount({ className, children, ...choice }: ChooseAccountProps) {
  return (
    <Popover
      label="Account"
      button={(button) => (
        <button type="button" className={className} {...button}>
          {children}
        </button>
      )}
    >
      {(close) => <Found {...choice} close={close} />}
    </Popover>
  )
}

const SEARCH_AFTER_MS = 150
const SHOWN_MAX = 20

interface FoundProps extends Omit<ChooseAccountProps, 'className' | 'children'> {
  readonly close: () => void
}

function Found({ accountId, onAll, onChoose, close }: FoundProps) {
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
          onClick={() => {
            close()
            onChoose(id)
          }}
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
      {onAll !== undefined && accountId !== undefined && (
        <>
          <div className="menu-rule" />
          <button
            type="button"
            className="menu-item"
            onClick={() => {
              close()
              onAll()
            }}
          >
            <Icon name="close" small /> <span>All accounts</span>
          </button>
        </>
      )}
    </>
  )
}
