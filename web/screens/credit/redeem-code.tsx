import { useState } from 'react'
import { TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import type { Entry } from '../../api/answers.ts'
import { asMember } from '../../api/calls.ts'
import { ApiError } from '../../api/client.ts'
import { useWrite } from '../../api/use-write.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { useAccountId } from '../../shell/use-account.ts'

/** Redeems a credit code, and shows how much credit it added. */
export function RedeemCode({ onClose }: { onClose: () => void }) {
  const accountId = useAccountId()
  const [code, setCode] = useState('')
  const redeem = useWrite(
    (text: string) => asMember('redeemCode', { account_id: accountId, code: text }),
    { reads: ['balance', 'entries', 'overview', 'account'].map((name) => [name, accountId]) },
  )
  if (redeem.data !== undefined) return <Redeemed entry={redeem.data} onClose={onClose} />
  const { error } = redeem
  const refusal = refusalOf(error, ['code'])
  const wait =
    error instanceof ApiError && error.retryAfterSeconds !== null
      ? ` Try again in ${counted(error.retryAfterSeconds, 'second')}.`
      : ''
  return (
    <FormDialog
      title="Redeem a code"
      submit="Redeem"
      isReady={code.trim() !== ''}
      write={redeem}
      problem={refusal.rest && refusal.rest + wait}
      onSubmit={() => redeem.mutate(code.trim())}
      onClose={onClose}
    >
      <Field
        label="Code"
        name="code"
        className="mono"
        placeholder="XXXXXX-XXXXXX-XXXXXX-XXXXXX"
        required
        maxLength={TEXT_CHARS_MAX.creditCode}
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        value={code}
        onChange={(event) => setCode(event.target.value)}
        error={refusal.at('code')}
        hint="Each code works once. Its credit is paid credit, which does not expire."
      />
    </FormDialog>
  )
}

function Redeemed({ entry, onClose }: { entry: Entry; onClose: () => void }) {
  return (
    <Dialog title={`${money(entry.amount)} was added`} onClose={onClose}>
      <p>The code is used up. Its credit pays for requests from now on.</p>
      <footer>
        <button type="button" className="btn pri" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  )
}
