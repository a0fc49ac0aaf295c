import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiKey, CreatedApiKey } from '../../api/answers.ts'
import { asMember } from '../../api/calls.ts'
import { useWrite } from '../../api/use-write.ts'
import { money } from '../../format/money.ts'
import { type ChangedTerms, changedTerms, NO_TERMS, type Terms } from '../../format/terms.ts'
import { ago } from '../../format/time.ts'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useNow } from '../../parts/now.ts'
import { showToast } from '../../parts/toast.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { type KeyFields, KeyForm } from './key-form.tsx'

/** The data that show keys. */
const readsOf = (accountId: string) => [
  ['keys', accountId],
  ['overview', accountId],
]

/** A change of a key; afterwards, what shows keys is read again. */
export function useKeyWrite<Input, Answer>(
  send: (account_id: string, input: Input) => Promise<Answer>,
  onDone: (answer: Answer, input: Input) => void,
) {
  const accountId = useAccountId()
  return useWrite((input: Input) => send(accountId, input), { reads: readsOf(accountId), onDone })
}

/** Changes a key back, from a toast that outlives its dialog. */
function useKeyUndo(apiKey: ApiKey) {
  const queries = useQueryClient()
  const accountId = useAccountId()
  return (text: string, before: ChangedFields & { readonly disabled?: boolean }) =>
    showToast(text, async () => {
      await asMember('changeKey', { account_id: accountId, key_id: apiKey.id, ...before })
      const reads = readsOf(accountId).map((queryKey) => queries.invalidateQueries({ queryKey }))
      await Promise.all(reads)
    })
}

interface CreateKeyProps {
  readonly onClose: () => void
  readonly onMade: (key: CreatedApiKey) => void
}

const NEW: KeyFields = { name: '', credit_limit: null, expires_at: null, ...NO_TERMS }

/** The form for a new key. */
export function CreateKey({ onClose, onMade }: CreateKeyProps) {
  const create = useKeyWrite(
    (account_id, fields: KeyFields) => asMember('createKey', { account_id, ...fields }),
    onMade,
  )
  return (
    <KeyForm
      title="Create key"
      before={NEW}
      spentMicros={null}
      submit="Create key"
      write={create}
      onSubmit={(fields) => create.mutate(fields)}
      onClose={onClose}
    />
  )
}

/** The dialog of a key. */
export interface KeyDialogProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
}

/** Its name, limit, expiry and terms. */
export function ChangeKey({ apiKey, onClose }: KeyDialogProps) {
  const say = useKeyUndo(apiKey)
  const change = useKeyWrite(
    (account_id, typed: KeyFields) =>
      asMember('changeKey', { account_id, key_id: apiKey.id, ...changedFields(apiKey, typed) }),
    (_, typed) => {
      onClose()
      // Only what was changed here: another person may have changed other fields meanwhile.
      say('Key changed.', changedFields(typed, apiKey))
    },
  )
  return (
    <KeyForm
      title={`Change “${apiKey.name}”`}
      before={apiKey}
      spentMicros={apiKey.spend}
      submit="Save"
      isChange={(fields) => Object.keys(changedFields(apiKey, fields)).length > 0}
      write={change}
      onSubmit={change.mutate}
      onClose={onClose}
    />
  )
}

type ChangedFields = Partial<Omit<KeyFields, keyof Terms>> & ChangedTerms

/** Unchanged fields are not sent: an expiry that has passed would be refused. */
function changedFields(before: KeyFields, fields: KeyFields): ChangedFields {
  const { name, credit_limit, expires_at } = fields
  return {
    ...changedTerms(before, fields),
    ...(name === before.name ? {} : { name }),
    ...(credit_limit === before.credit_limit ? {} : { credit_limit }),
    ...(isSameMoment(expires_at, before.expires_at) ? {} : { expires_at }),
  }
}

function isSameMoment(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return one === other
  return Date.parse(one) === Date.parse(other)
}

function usedWords({ last_used_at: usedAt, spend }: ApiKey, now: Date): string {
  if (usedAt === null) return 'The key was never used.'
  return `The key was last used ${ago(new Date(usedAt), now)} and has spent ${money(spend)}.`
}

/** Disables a key, or enables it again, after saying what that does. */
export function DisableKey({ apiKey, onClose }: KeyDialogProps) {
  const now = useNow()
  const say = useKeyUndo(apiKey)
  const change = useKeyWrite(
    (account_id, disabled: boolean) =>
      asMember('changeKey', { account_id, key_id: apiKey.id, disabled }),
    ({ disabled }) => {
      onClose()
      say(disabled ? 'Key disabled.' : 'Key enabled.', { disabled: !disabled })
    },
  )
  return (
    <FormDialog
      title={apiKey.disabled ? `Enable “${apiKey.name}”?` : `Disable “${apiKey.name}”?`}
      submit={apiKey.disabled ? 'Enable' : 'Disable'}
      write={change}
      onSubmit={() => change.mutate(!apiKey.disabled)}
      onClose={onClose}
    >
      {apiKey.disabled ? (
        <p>Requests with this key are accepted again at once.</p>
      ) : (
        <p>
          From now on, requests with this key are refused with api_key_disabled. Running requests
          finish. {usedWords(apiKey, now)} You can enable it again.
        </p>
      )}
    </FormDialog>
  )
}

interface DeleteKeyProps extends KeyDialogProps {
  readonly onDeleted: (keyId: string) => void
}

/** Deletes a key for good, once its name is typed. */
export function DeleteKey({ apiKey, onDeleted, onClose }: DeleteKeyProps) {
  const now = useNow()
  const [typed, setTyped] = useState('')
  const remove = useKeyWrite(
    (account_id, key_id: string) => asMember('deleteKey', { account_id, key_id }),
    () => {
      onClose()
      onDeleted(apiKey.id)
      showToast('Key deleted.')
    },
  )
  const held =
    apiKey.held === 0
      ? ''
      : ` ${money(apiKey.held)} is held by running requests, which finish and are charged.`
  return (
    <FormDialog
      title={`Delete “${apiKey.name}”?`}
      submit="Delete key"
      isDangerous
      isReady={typed.trim() === apiKey.name}
      write={remove}
      onSubmit={() => remove.mutate(apiKey.id)}
      onClose={onClose}
    >
      <p>
        From now on, requests with this key are refused with invalid_api_key.{' '}
        {usedWords(apiKey, now)}
        {held} Its requests stay in Activity.
      </p>
      <Field
        label={`Type ${apiKey.name} to delete it`}
        name="typed"
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </FormDialog>
  )
}
