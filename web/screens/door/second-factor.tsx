import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { Me } from '../../api/answers.ts'
import { read, write } from '../../api/client.ts'
import { CodeField } from '../../parts/code-field.tsx'
import { RecoveryCodes } from '../profile/recovery-codes.tsx'
import { SetUpApp } from '../profile/set-up-app.tsx'
import { Door } from './door.tsx'
import { DoorForm, useEnter } from './door-form.tsx'

const route = getRouteApi('/second-factor')

/** The second step of a sign-in. */
export function ShowFactor() {
  const { next = '/' } = route.useSearch()
  const { factor_needed: needed } = route.useLoaderData()
  return (
    <Door title="Second step" lead={<Lead email={needed?.email ?? ''} />}>
      <DoorForm path="auth/factor" submit="Sign in" next={next} ownFields={['code']}>
        {(wrong) => <CodeField autoFocus error={wrong('code')} />}
      </DoorForm>
      <p className="note mt-4">
        Lost the phone? Use a recovery code. Without one, the operator makes a link with{' '}
        <span className="mono">npx tollgate user reset</span>.
      </p>
      <Leave />
    </Door>
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
  const enter = useEnter()
  const queries = useQueryClient()
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const goOn = async () => {
    queries.clear()
    await enter(await read<Me>('me'), '/')
  }
  return (
    <Door
      title="Set up a second factor"
      lead="Operators of this gateway need one beside the password."
    >
      <div className="factor">
        {codes === null ? (
          <SetUpApp onAdded={(made) => (made === null ? void goOn() : setCodes(made))} />
        ) : (
          <RecoveryCodes codes={codes} onDone={() => void goOn()} />
        )}
      </div>
      <Leave />
    </Door>
  )
}

function Leave() {
  return (
    <p className="mt-4">
      <button
        type="button"
        className="link"
        onClick={() => {
          void write('POST', 'auth/sign-out').then(() => location.assign('/app/sign-in'))
        }}
      >
        Start again as another user
      </button>
    </p>
  )
}
