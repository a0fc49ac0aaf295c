import { CopyButton } from '../../parts/copy-button.tsx'

interface RecoveryCodesProps {
  readonly codes: readonly string[]
  readonly onDone: () => void
  /** Called once they are copied. Default: nothing. */
  readonly onCopied?: () => void
}

/** Recovery codes that were just made: the only time that they are shown. */
export function RecoveryCodes({ codes, onDone, onCopied = () => {} }: RecoveryCodesProps) {
  return (
    <>
      <p>
        Keep these ten codes away from your phone, printed or in a password manager. Each signs you
        in once in place of your second factor. They are shown only once.
      </p>
      <ul className="codes mono" aria-label="Recovery codes">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <footer>
        <CopyButton text={codes.join('\n')} label="Copy the recovery codes" onCopied={onCopied} />
        <button type="button" className="btn pri" onClick={onDone}>
          I saved the codes
        </button>
      </footer>
    </>
  )
}
