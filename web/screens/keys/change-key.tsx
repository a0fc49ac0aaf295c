import type { ApiKey } from '../../api/answers.ts'
import { write } from '../../api/client.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { type KeyFields, KeyForm } from './key-form.tsx'
import { useKeyWrite } from './use-key-write.ts'

interface ChangeKeyProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
}

/** Its name, limit and expiry. */
export function ChangeKey({ apiKey, onClose }: ChangeKeyProps) {
  const change = useKeyWrite(
    (path, fields: Partial<KeyFields>) => write<ApiKey>('PATCH', `${path}/${apiKey.id}`, fields),
    onClose,
  )
  return (
    <Dialog title={`Change “${apiKey.name}”`} onClose={onClose}>
      <KeyForm
        before={apiKey}
        spentMicros={apiKey.spend}
        submit="Save"
        error={change.error}
        isSending={change.isPending}
        onSubmit={(fields) => change.mutate(changedFields(apiKey, fields))}
        onCancel={onClose}
      />
    </Dialog>
  )
}

/** What was not touched is not sent: an expiry that has passed would be refused. */
function changedFields(apiKey: ApiKey, fields: KeyFields): Partial<KeyFields> {
  const { name, credit_limit, expires_at } = fields
  return {
    ...(name === apiKey.name ? {} : { name }),
    ...(credit_limit === apiKey.credit_limit ? {} : { credit_limit }),
    ...(isSameMoment(expires_at, apiKey.expires_at) ? {} : { expires_at }),
  }
}

function isSameMoment(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return one === other
  return Date.parse(one) === Date.parse(other)
}
