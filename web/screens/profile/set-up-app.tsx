import { type FormEvent, type ReactNode, useState } from 'react'
import { type Answer, asBrowser } from '../../api/calls.ts'
import { useSend } from '../../api/use-write.ts'
import { CodeField } from '../../parts/code-field.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Problem } from '../../parts/problem.tsx'
import { QrCode } from '../../parts/qr-code.tsx'
import { refusalOf } from '../../parts/refusal.ts'

type Begun = Answer<'beginAppFactor', 'browser'>

interface SetUpAppProps {
  /** Beside the button that begins and the one that ends it. */
  readonly cancel?: ReactNode
  /** With the recovery codes that were made; null: the user has some. */
  readonly onAdded: (recoveryCodes: readonly string[] | null) => void
}

/** Adds an authenticator app: a QR code to scan, and a code of the app that proves it. */
export function SetUpApp({ cancel, onAdded }: SetUpAppProps) {
  const [begun, setBegun] = useState<Begun | null>(null)
  const begin = useSend({
    mutationFn: () => asBrowser('beginAppFactor', {}),
    // The answer has the secret of the app, which stays out of what is kept.
    gcTime: 0,
    onSuccess: setBegun,
  })
  if (begun !== null) return <ProveApp begun={begun} cancel={cancel} onAdded={onAdded} />
  return (
    <>
      <p>
        An app on your phone shows six digits, new ones every 30 seconds. A sign-in then asks for
        them too. Any authenticator app works.
      </p>
      <Problem text={begin.error?.message} />
      <footer>
        {cancel}
        <button
          type="button"
          className="btn pri"
          aria-disabled={begin.isPending}
          onClick={() => begin.mutate()}
        >
          Set up an app
        </button>
      </footer>
    </>
  )
}

function ProveApp({ begun, cancel, onAdded }: SetUpAppProps & { readonly begun: Begun }) {
  const [code, setCode] = useState('')
  const add = useSend({
    mutationFn: (typed: string) => asBrowser('addAppFactor', { secret: begun.secret, code: typed }),
    gcTime: 0,
    onSuccess: (added) => onAdded(added.recovery_codes),
  })
  const refusal = refusalOf(add.error, ['code'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    add.mutate(code)
  }
  return (
    <form className="contents" onSubmit={submit}>
      <p>Scan this with the app, or type the secret into it.</p>
      <QrCode text={begun.url} label="The secret for an authenticator app" />
      <div className="flex items-center gap-2">
        <code className="mono break-all">{begun.secret}</code>
        <CopyButton text={begun.secret} label="Copy the secret" bare />
      </div>
      <CodeField
        hint="The six digits that the app shows now."
        inputMode="numeric"
        pattern="[0-9 ]{6,7}"
        // The button that had the focus is gone.
        autoFocus
        value={code}
        onChange={(event) => setCode(event.target.value)}
        error={refusal.at('code')}
      />
      <Problem text={refusal.rest} />
      <footer>
        {cancel}
        <button type="submit" className="btn pri" aria-disabled={add.isPending}>
          Turn on
        </button>
      </footer>
    </form>
  )
}
