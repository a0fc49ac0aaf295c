import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type ComponentProps, useState } from 'react'
import type { Factors } from '../../api/answers.ts'
import { asBrowser } from '../../api/calls.ts'
import { factorsQuery, meQuery, sessionsQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { LeaveUncopied } from '../../parts/made-secret.tsx'
import { hasPasskeys } from '../../parts/passkey.ts'
import { Failed } from '../../parts/states.tsx'
import { useMe } from '../../shell/use-account.ts'
import { AddPasskey } from './add-passkey.tsx'
import { type Factor, FactorLines, titleOf } from './factor-lines.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { SetUpApp } from './set-up-app.tsx'

type Doing =
  | { readonly what: 'adding-app' | 'adding-passkey' | 'renewing' }
  | { readonly what: 'removing'; readonly factor: Factor }

/** The user's second factors. */
export function SecondFactor() {
  const query = useQuery(factorsQuery)
  const [doing, setDoing] = useState<Doing | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const refresh = useRefresh()
  const close = () => {
    setDoing(null)
    setCodes(null)
  }
  const changed = (made: readonly string[] | null) => {
    refresh()
    setDoing(null)
    setCodes(made)
  }
  const { data } = query
  return (
    <section className="card" aria-label="Second factor" aria-busy={query.isPending}>
      <header className="flex-wrap gap-y-2">
        <h2>Second factor</h2>
        {data !== undefined && !data.needs_proof && (
          <AddButtons factors={data} onAdd={(what) => setDoing({ what })} />
        )}
      </header>
      {data === undefined && query.isError && (
        <Failed what="The second factors could not be loaded." query={query} />
      )}
      {data?.data.length === 0 && <NoFactor factors={data} />}
      {data !== undefined && data.data.length > 0 && (
        <FactorLines
          factors={data}
          onRemove={(factor) => setDoing({ what: 'removing', factor })}
          onRenew={() => setDoing({ what: 'renewing' })}
        />
      )}
      {doing?.what === 'adding-app' && (
        <Dialog title="Set up an authenticator app" onClose={close}>
          <SetUpApp cancel={<Cancel onClick={close} />} onAdded={changed} />
        </Dialog>
      )}
      {doing?.what === 'adding-passkey' && (
        <Dialog title="Add a passkey" onClose={close}>
          <AddPasskey cancel={<Cancel onClick={close} />} onAdded={changed} />
        </Dialog>
      )}
      {doing?.what === 'removing' && (
        <RemoveFactor
          factor={doing.factor}
          isLast={data?.data.length === 1}
          onDone={() => changed(null)}
          onClose={close}
        />
      )}
      {doing?.what === 'renewing' && <RenewCodes onDone={changed} onClose={close} />}
      {codes !== null && <NewCodes codes={codes} onDone={close} />}
    </section>
  )
}

/** Recovery codes that were just made. Escape asks before they are gone. */
function NewCodes({ codes, onDone }: ComponentProps<typeof RecoveryCodes>) {
  const [isCopied, setCopied] = useState(false)
  const [isEnding, setEnding] = useState(false)
  return (
    <>
      {!isEnding && (
        <Dialog title="Recovery codes" onClose={() => (isCopied ? onDone() : setEnding(true))}>
          <RecoveryCodes codes={codes} onDone={onDone} onCopied={() => setCopied(true)} />
        </Dialog>
      )}
      <LeaveUncopied
        noun="recovery codes"
        isCopied={isCopied}
        isEnding={isEnding}
        onLeave={onDone}
        onStay={() => setEnding(false)}
      />
    </>
  )
}

/** Makes the function that reads everything again that a change of a second factor changes. */
function useRefresh(): () => void {
  const queries = useQueryClient()
  const router = useRouter()
  return () => {
    // The other sessions have ended with it.
    for (const { queryKey } of [factorsQuery, sessionsQuery]) {
      void queries.invalidateQueries({ queryKey })
    }
    // An operator who must have one, and has removed the last, is led to its setup.
    void queries.refetchQueries({ queryKey: meQuery.queryKey }).then(() => router.invalidate())
  }
}

interface AddButtonsProps {
  readonly factors: Factors
  readonly onAdd: (what: 'adding-app' | 'adding-passkey') => void
}

function AddButtons({ factors, onAdd }: AddButtonsProps) {
  const hasApp = factors.data.some(({ kind }) => kind === 'app')
  return (
    <span className="flex flex-wrap gap-2">
      {hasPasskeys() && factors.passkey_host !== null && (
        <button type="button" className="btn" onClick={() => onAdd('adding-passkey')}>
          Add a passkey
        </button>
      )}
      <button type="button" className="btn" onClick={() => onAdd('adding-app')}>
        {hasApp ? 'Set up another phone' : 'Set up an app'}
      </button>
    </span>
  )
}

function NoFactor({ factors }: { factors: Factors }) {
  const { user } = useMe()
  return (
    <p className="note px-[18px] pt-1 pb-[18px]">
      {user.has_password
        ? 'Your password alone signs you in. With a passkey or an authenticator app, a stolen password is not enough.'
        : 'Your email or provider alone signs you in. With a passkey or an authenticator app, that is not enough.'}
      {factors.needs_proof && (
        <> Confirm your email address first: sign out, then sign in by email or at a provider.</>
      )}
      {factors.passkey_host === null && !factors.needs_proof && <NeedsHostName />}
    </p>
  )
}

interface ChangeProps<Done> {
  readonly onDone: Done
  readonly onClose: () => void
}

interface RemoveFactorProps extends ChangeProps<() => void> {
  readonly factor: Factor
  readonly isLast: boolean
}

function RemoveFactor({ factor, isLast, onDone, onClose }: RemoveFactorProps) {
  const { user } = useMe()
  const remove = useSend({
    mutationFn: () => asBrowser('removeFactor', { factor_id: factor.id }),
    onSuccess: onDone,
  })
  return (
    <FormDialog
      title={`Remove ${titleOf(factor)}?`}
      submit="Remove"
      isDangerous
      write={remove}
      onSubmit={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        {isLast
          ? `You then sign in ${user.has_password ? 'with your password' : 'by email or at your provider'} alone. The recovery codes are removed too.`
          : 'You can no longer sign in with it. Other second factors are unchanged.'}
      </p>
    </FormDialog>
  )
}

function RenewCodes({ onDone, onClose }: ChangeProps<(codes: readonly string[]) => void>) {
  const renew = useSend({
    mutationFn: () => asBrowser('renewRecoveryCodes', {}),
    gcTime: 0,
    onSuccess: (answer) => onDone(answer.recovery_codes),
  })
  return (
    <FormDialog
      title="Make new recovery codes?"
      submit="Make ten codes"
      write={renew}
      onSubmit={() => renew.mutate()}
      onClose={onClose}
    >
      <p>Earlier recovery codes no longer work.</p>
    </FormDialog>
  )
}

/** Browsers have no passkeys for an IP address; on this machine there is also a host name. */
function NeedsHostName() {
  const { hostname, port, protocol } = location
  const isOwn = protocol === 'http:' && /^(?:127\.|\[::1\])/.test(hostname)
  const local = `http://localhost${port === '' ? '' : `:${port}`}/app/`
  return (
    <>
      {' '}
      A passkey needs a host name in the address of the page
      {isOwn ? (
        <>
          : sign in at <span className="mono whitespace-nowrap">{local}</span> to add one
        </>
      ) : null}
      .
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
