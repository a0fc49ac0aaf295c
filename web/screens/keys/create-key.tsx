import type { CreatedApiKey } from '../../api/answers.ts'
import { write } from '../../api/client.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { type KeyFields, KeyForm } from './key-form.tsx'
import { useKeyWrite } from './use-key-write.ts'

interface CreateKeyProps {
  readonly onClose: () => void
  readonly onMade: (key: CreatedApiKey) => void
}

const NEW: KeyFields = { name: '', credit_limit: null, expires_at: null }

/** The form for a new key. */
export function CreateKey({ onClose, onMade }: CreateKeyProps) {
  const create = useKeyWrite(
    (path, fields: KeyFields) => write<CreatedApiKey>('POST', path, fields),
    onMade,
  )
  return (
    <Dialog title="Create key" onClose={onClose}>
      <KeyForm
        before={NEW}
        spentMicros={null}
        submit="Create key"
        error={create.error}
        isSending={create.isPending}
        onSubmit={(fields) => create.mutate(fields)}
        onCancel={onClose}
      />
    </Dialog>
  )
}
