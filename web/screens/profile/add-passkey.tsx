import { type FormEvent, type ReactNode, useState } from 'react'
import { TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import { asBrowser } from '../../api/calls.ts'
import { useSend } from '../../api/use-write.ts'
import { Field } from '../../parts/field.tsx'
import { makePasskey } from '../../parts/passkey.ts'
import { Problem } from '../../parts/problem.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { browserName } from './browser-name.ts'

interface AddPasskeyProps {
  /** Beside the button that adds it. */
  readonly cancel?: ReactNode
  /** With the recovery codes that were made; null: the user has some. */
  readonly onAdded: (recoveryCodes: readonly string[] | null) => void
}

/** Adds a passkey: the browser asks for the finger, the face or the key that keeps it. */
export function AddPasskey({ cancel, onAdded }: AddPasskeyProps) {
  const [name, setName] = useState(() => browserName(navigator.userAgent))
  const add = useSend({
    mutationFn: async (typed: string) =>
      asBrowser('addPasskey', { name: typed, passkey: await makePasskey() }),
    gcTime: 0,
    onSuccess: (added) => onAdded(added.recovery_codes),
  })
  const refusal = refusalOf(add.error, ['name'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    add.mutate(name)
  }
  return (
    <form className="contents" onSubmit={submit}>
      <p>
        Use your fingerprint, your face, your phone or a security key in place of a code. A passkey
        works only at this address: no other site can ask for it.
      </p>
      <Field
        label="Name"
        name="name"
        required
        maxLength={TEXT_CHARS_MAX.name}
        hint="To recognize it in this list."
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={refusal.at('name')}
      />
      <Problem text={refusal.rest} />
      <footer>
        {cancel}
        <button type="submit" className="btn pri" aria-disabled={add.isPending}>
          Add a passkey
        </button>
      </footer>
    </form>
  )
}
