import { useState } from 'react'
import type { CreatedApiKey } from '../../api/answers.ts'
import { asMember } from '../../api/calls.ts'
import { dayAndMinute } from '../../format/time.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useNow } from '../../parts/now.ts'
import { type KeyDialogProps, useKeyWrite } from './key-dialogs.tsx'

const HOUR_SECONDS = 3_600

// `POST keys/{id}/rotate` takes up to a week.
const GRACES = [
  { text: 'Not at all', seconds: 0 },
  { text: '1 hour', seconds: HOUR_SECONDS },
  { text: '24 hours', seconds: 24 * HOUR_SECONDS },
  { text: '7 days', seconds: 168 * HOUR_SECONDS },
] as const

interface RotateKeyProps extends KeyDialogProps {
  readonly onRotated: (key: CreatedApiKey) => void
}

/** Gives a key a new text, and says until when the one before works. */
export function RotateKey({ apiKey, onClose, onRotated }: RotateKeyProps) {
  const now = useNow()
  const [graceSeconds, setGraceSeconds] = useState<number>(24 * HOUR_SECONDS)
  const rotate = useKeyWrite(
    (account_id, grace_seconds: number) =>
      asMember('rotateKey', { account_id, key_id: apiKey.id, grace_seconds }),
    onRotated,
  )
  const ends = new Date(now.getTime() + graceSeconds * 1_000)
  return (
    <FormDialog
      title={`Rotate “${apiKey.name}”?`}
      submit="Rotate key"
      isDangerous={graceSeconds === 0}
      write={rotate}
      onSubmit={() => rotate.mutate(graceSeconds)}
      onClose={onClose}
    >
      <p>
        You get a new key, which is shown once. Limits, spend and requests stay the same.
        {apiKey.previous_expires_at !== null &&
          ' The key before the last rotation stops working at once.'}
      </p>
      <fieldset className="fld">
        <legend className="mb-1">Keep the current key working</legend>
        <div className="chips">
          {GRACES.map(({ text, seconds }) => (
            <button
              key={seconds}
              type="button"
              aria-pressed={seconds === graceSeconds}
              onClick={() => setGraceSeconds(seconds)}
            >
              {text}
            </button>
          ))}
        </div>
        <small>
          {graceSeconds === 0
            ? 'Requests with the current key are refused at once with invalid_api_key.'
            : `Until ${dayAndMinute(ends)}. From then on, requests with the current key are refused with invalid_api_key.`}
        </small>
      </fieldset>
    </FormDialog>
  )
}
