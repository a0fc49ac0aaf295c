import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { asBrowser } from '../../api/calls.ts'
import { factorsQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { CodeField } from '../../parts/code-field.tsx'
import { LeaveUncopied } from '../../parts/made-secret.tsx'
import { hasPasskeys, signByPasskey } from '../../parts/passkey.ts'
import { Problem } from '../../parts/problem.tsx'
import { useSignOut } from '../../shell/use-sign-out.ts'
import { AddPasskey } from '../profile/add-passkey.tsx'
import { RecoveryCodes } from '../profile/recovery-codes.tsx'
import { SetUpApp } from '../profile/set-up-app.tsx'
import { Door } from './door.tsx'
import { DoorForm, messageOf, useEnter } from './door-form.tsx'

const route = getRouteApi('/second-factor')
const setUpRoute = getRouteApi('/set-up-second-factor')

/** The second step of a sign-in. */
export function ShowFactor() {
  const { next = '/' } = route.useSearch()
  const { factor_needed: needed } = route.useLoaderData()
  const { email = '', kinds = [] } = needed ?? {}
  const canSign = hasPasskeys() && kinds.includes('passkey')
  const [isByCode, setByCode] = useState(false)
  return (
    <Door title="Second factor" lead={<Lead email={email} />}>
      {canSign && !isByCode ? (
        <ByPasskey next={next} onCode={() => setByCode(true)} />
      ) : (
        <DoorForm
          send={({ code = '' }) => asBrowser('showFactor', { code })}
          submit="Sign in"
          next={next}
          ownFields={['code']}
        >
          {(wrong) => <CodeField autoFocus hasApp={kinds.includes('app')} error={wrong('code')} />}
        </DoorForm>
      )}
      {kinds.length === 0 && (
        <p className="note mt-4">
          Your passkey belongs to another address of this service. Sign in there, or use a recovery
          code.
        </p>
      )}
      <p className="note mt-4">
        Lost your second factor? Use a recovery code. Without one, ask the person who runs this
        server for a link. On the server, <span className="mono">tollgate user reset</span> makes
        one.
      </p>
      <Leave />
    </Door>
  )
}

interface ByPasskeyProps {
  /** The page that is opened then. */
  readonly next: string
  readonly onCode: () => void
}

function ByPasskey({ next, onCode }: ByPasskeyProps) {
  const enter = useEnter()
  const sign = useSend({
    mutationFn: async () => asBrowser('showFactor', { passkey: await signByPasskey() }),
    onSuccess: (entered) => enter(entered, next),
  })
  return (
    <div className="mt-5 grid gap-4">
      <Problem text={sign.error && messageOf(sign.error)} />
      <button
        type="button"
        className="btn pri h-10"
        aria-disabled={sign.isPending}
        onClick={() => sign.mutate()}
      >
        Use a passkey
      </button>
      <button type="button" className="link justify-self-start" onClick={onCode}>
        Use a code instead
      </button>
    </div>
  )
}

function Lead({ email }: { email: string }) {
  return (
    <>
      Signing in as <b className="break-all">{email}</b>.
    </>
  )
}

/** For an operator who must have a second factor and has none. */
export function SetUpFactor() {
  const { next = '/' } = setUpRoute.useSearch()
  const enter = useEnter()
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  // A second try to add it would be refused: only what comes after it is tried again.
  const [isAdded, setAdded] = useState(false)
  const [isKept, setKept] = useState(false)
  const [isPasskey, setPasskey] = useState(false)
  const { data: factors } = useQuery(factorsQuery)
  const canAddPasskey = hasPasskeys() && factors !== undefined && factors.passkey_host !== null
  const leave = useSend({
    mutationFn: () => asBrowser('getMe', {}),
    onSuccess: (me) => enter(me, next),
  })
  const onAdded = (made: readonly string[] | null) => {
    setAdded(true)
    if (made === null) leave.mutate()
    else setCodes(made)
  }
  return (
    <Door
      title="Set up a second factor"
      lead="Operators of this gateway need one in addition to the password."
    >
      <div className="factor">
        {codes !== null && (
          <>
            <RecoveryCodes
              codes={codes}
              onCopied={() => setKept(true)}
              onDone={() => {
                setKept(true)
                leave.mutate()
              }}
            />
            <LeaveUncopied
              noun="recovery codes"
              isCopied={isKept}
              isEnding={false}
              onLeave={() => {}}
              onStay={() => {}}
            />
          </>
        )}
        <Problem text={leave.error?.message} />
        {isAdded && codes === null && (
          <button
            type="button"
            className="btn pri"
            aria-disabled={leave.isPending}
            onClick={() => leave.mutate()}
          >
            Continue
          </button>
        )}
        {!isAdded && isPasskey && <AddPasskey onAdded={onAdded} />}
        {!isAdded && !isPasskey && <SetUpApp onAdded={onAdded} />}
      </div>
      {!isAdded && canAddPasskey && (
        <p className="mt-4">
          <button type="button" className="link" onClick={() => setPasskey(!isPasskey)}>
            {isPasskey ? 'Use an authenticator app instead' : 'Use a passkey instead'}
          </button>
        </p>
      )}
      <Leave />
    </Door>
  )
}

function Leave() {
  const signOut = useSignOut()
  return (
    <p className="mt-4">
      <button type="button" className="link" onClick={signOut}>
        Start again as another user
      </button>
    </p>
  )
}
