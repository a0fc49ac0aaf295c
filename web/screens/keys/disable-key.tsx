import type { ApiKey } from '../../api/answers.ts'
import { write } from '../../api/client.ts'
import { money } from '../../format/money.ts'
import { ago } from '../../format/time.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { useNow } from '../../parts/now.ts'
import { useKeyWrite } from './use-key-write.ts'

interface DisableKeyProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
}

/** Disables a key, or enables it again, after saying what that does. */
export function DisableKey({ apiKey, onClose }: DisableKeyProps) {
  const now = useNow()
  const change = useKeyWrite(
    (path, disabled: boolean) => write<ApiKey>('PATCH', `${path}/${apiKey.id}`, { disabled }),
    onClose,
  )
  const used =
    apiKey.last_used_at === null
      ? 'It was never used'
      : `It was last used ${ago(new Date(apiKey.last_used_at), now)}`
  return (
    <Confirm
      title={apiKey.disabled ? `Enable “${apiKey.name}”?` : `Disable “${apiKey.name}”?`}
      submit={apiKey.disabled ? 'Enable' : 'Disable'}
      error={change.error}
      isSending={change.isPending}
      onSubmit={() => change.mutate(!apiKey.disabled)}
      onClose={onClose}
    >
      {apiKey.disabled ? (
        <p>Requests with it are accepted again at once.</p>
      ) : (
        <p>
          Requests with it are refused with api_key_disabled at once; those under way end as they
          are. {used} and has spent {money(apiKey.spend)}. It can be enabled again.
        </p>
      )}
    </Confirm>
  )
}
