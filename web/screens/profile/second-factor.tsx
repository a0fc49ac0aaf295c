import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Factors } from '../../api/answers.ts'
import { read, write } from '../../api/client.ts'
import { meQuery } from '../../api/queries.ts'
import { ago } from '../../format/time.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { useNow } from '../../parts/now.ts'
import { useRecentWrite } from '../../parts/recent-write.tsx'
import { Failed } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { SetUpApp } from './set-up-app.tsx'

const FACTORS = ['factors']

type Doing = { readonly what: 'adding' | 'renewing' } | { readonly what: 'removing'; id: string }

/** How the user proves a sign-in beside the password. */
export function SecondFactor() {
  const query = useQuery({
    queryKey: FACTORS,
    queryFn: ({ signal }) => read<Factors>('auth/factors', signal),
  })
  const [doing, setDoing] = useState<Doing | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const queries = useQueryClient()
  const close = () => {
    setDoing(null)
    setCodes(null)
  }
  const changed = (made: readonly string[] | null) => {
    // The other sessions have ended with it.
    for (const queryKey of [FACTORS, ['sessions'], meQuery.queryKey]) {
      void queries.invalidateQueries({ queryKey })
    }
    setDoing(null)
    setCodes(made)
  }
  const { data } = query
  const app = data?.data.find(({ kind }) => kind === 'app')
  return (
    <section className="card" aria-label="Second factor" aria-busy={query.isPending}>
      <header>
        <h2>Second factor</h2>
        {data !== undefined && (
          <button type="button" className="btn" onClick={() => setDoing({ what: 'adding' })}>
            {app === undefined ? 'Set up' : 'Set up another phone'}
          </button>
        )}
      </header>
      {data === undefined && query.isError && (
        <Failed
          what="The second factors could not be read."
          error={query.error}
          onRetry={() => query.refetch()}
        />
      )}
      {data !== undefined && app === undefined && (
        <p className="note px-[18px] pt-1 pb-[18px]">
          Your password alone signs you in. With an authenticator app, a person who has learned it
          can’t.
        </p>
      )}
      {data !== undefined && app !== undefined && (
        <FactorLines
          app={app}
          codesLeft={data.recovery_codes_left}
          onRemove={() => setDoing({ what: 'removing', id: app.id })}
          onRenew={() => setDoing({ what: 'renewing' })}
        />
      )}
      {doing?.what === 'adding' && (
        <Dialog title="Set up an authenticator app" onClose={close}>
          <SetUpApp cancel={<Cancel onClick={close} />} onAdded={changed} />
        </Dialog>
      )}
      {doing?.what === 'removing' && (
        <RemoveFactor id={doing.id} onDone={() => changed(null)} onClose={close} />
      )}
      {doing?.what === 'renewing' && <RenewCodes onDone={changed} onClose={close} />}
      {codes !== null && (
        <Dialog title="Recovery codes" onClose={close}>
          <RecoveryCodes codes={codes} onDone={close} />
        </Dialog>
      )}
    </section>
  )
}

interface FactorLinesProps {
  readonly app: Factors['data'][number]
  readonly codesLeft: number
  readonly onRemove: () => void
  readonly onRenew: () => void
}

function FactorLines({ app, codesLeft, onRemove, onRenew }: FactorLinesProps) {
  const now = useNow()
  const usedAt = new Date(app.last_used_at ?? app.created_at)
  return (
    <ul className="owned">
      <li>
        <span>
          <b>Authenticator app</b>
          <span className="two">
            {app.last_used_at === null ? 'Added ' : 'Last used '}
            <Time at={usedAt}>{ago(usedAt, now)}</Time>
          </span>
        </span>
        <button
          type="button"
          className="btn"
          aria-label="Remove the authenticator app"
          onClick={onRemove}
        >
          Remove
        </button>
      </li>
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

interface ChangeProps<Done> {
  readonly onDone: Done
  readonly onClose: () => void
}

function RemoveFactor({ id, onDone, onClose }: ChangeProps<() => void> & { readonly id: string }) {
  const remove = useRecentWrite(() => write('DELETE', `auth/factors/${id}`), onDone)
  return (
    <>
      <Confirm
        title="Remove the authenticator app?"
        submit="Remove"
        isDangerous
        error={remove.error}
        isSending={remove.isPending}
        onSubmit={() => remove.mutate(undefined)}
        onClose={onClose}
      >
        <p>Your password alone signs you in then. The recovery codes go too.</p>
      </Confirm>
      {remove.password}
    </>
  )
}

function RenewCodes({ onDone, onClose }: ChangeProps<(codes: readonly string[]) => void>) {
  const renew = useRecentWrite(
    () => write<{ recovery_codes: readonly string[] }>('POST', 'auth/factors/recovery-codes'),
    (answer) => onDone(answer.recovery_codes),
  )
  return (
    <>
      <Confirm
        title="Make new recovery codes?"
        submit="Make ten codes"
        error={renew.error}
        isSending={renew.isPending}
        onSubmit={() => renew.mutate(undefined)}
        onClose={onClose}
      >
        <p>The earlier codes are good no more.</p>
      </Confirm>
      {renew.password}
    </>
  )
}

function Cancel({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" className="btn ghost" onClick={onClick}>
      Cancel
    </button>
  )
}
