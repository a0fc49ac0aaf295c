import { useState } from 'react'
import type { ApiKey } from '../../api/answers.ts'
import { write } from '../../api/client.ts'
import { money } from '../../format/money.ts'
import { ago } from '../../format/time.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Field } from '../../parts/field.tsx'
import { useNow } from '../../parts/now.ts'
import { useKeyWrite } from './use-key-write.ts'

interface DeleteKeyProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
}

/** Deletes a key for good, once its name is typed. */
export function DeleteKey({ apiKey, onClose }: DeleteKeyProps) {
  const now = useNow()
  const [typed, setTyped] = useState('')
  const remove = useKeyWrite(
    (path, id: string) => write<unknown>('DELETE', `${path}/${id}`),
    onClose,
  )
  const used =
    apiKey.last_used_at === null
      ? 'It was never used.'
      : `It was last used ${ago(new Date(apiKey.last_used_at), now)} and has spent ${money(apiKey.spend)}.`
  const held =
    apiKey.held === 0
      ? ''
      : ` ${money(apiKey.held)} is held by requests under way, which end as they are.`
  return (
    <Confirm
      title={`Delete “${apiKey.name}”?`}
      submit="Delete key"
      isDangerous
      isReady={typed.trim() === apiKey.name}
      error={remove.error}
      isSending={remove.isPending}
      onSubmit={() => remove.mutate(apiKey.id)}
      onClose={onClose}
    >
      <p>
        Requests with it are refused with invalid_api_key at once and for good. {used}
        {held} Its requests stay in Activity.
      </p>
      <Field
        label={`Type ${apiKey.name} to delete it`}
        name="typed"
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </Confirm>
  )
}
