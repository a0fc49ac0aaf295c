import { lazy, type ReactNode, Suspense, useState } from 'react'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import type { Message } from './chat-store.ts'
import { isSendKey } from './composer.tsx'
import { Charge } from './outcome.tsx'

interface MessageItemProps {
  readonly message: Message
  /** Whether its charge is shown with it. */
  readonly isPriced: boolean
  /** Whether an answer is under way. */
  readonly isLocked: boolean
  readonly onEdit: (content: string) => void
  readonly onRemove: () => void
  readonly onResend: () => void
}

// Loaded with the first answer, which stays plain text where the script could not be loaded.
const Markdown = lazy(() =>
  import('./markdown.tsx').then(
    ({ Markdown }) => ({ default: Markdown }),
    () => ({ default: PlainText }),
  ),
)

const SPEAKERS = { user: 'You', assistant: 'Assistant' } as const

/** A message: read, edited, removed, or sent again. */
export function MessageItem({
  message,
  isPriced,
  isLocked,
  onEdit,
  onRemove,
  onResend,
}: MessageItemProps) {
  const { role, content, model, requestId } = message
  const [draft, setDraft] = useState<string | null>(null)
  const speaker = SPEAKERS[role]
  const save = () => {
    if (draft !== null) onEdit(draft)
    setDraft(null)
  }
  return (
    <li className={`said ${role}`}>
      <header>
        <b>{model ?? speaker}</b>
        {!isLocked && draft === null && (
          <span className="actions">
            <CopyButton text={content} label="Copy the message" bare />
            {role === 'user' && (
              <Act icon="again" label="Send again from here" onClick={onResend} />
            )}
            <Act icon="pencil" label="Edit the message" onClick={() => setDraft(content)} />
            <Act icon="bin" label="Remove the message" onClick={onRemove} />
          </span>
        )}
      </header>
      {draft === null ? (
        <Content text={content} isAnswer={role === 'assistant'} />
      ) : (
        <form
          className="grid gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            save()
          }}
        >
          <textarea
            className="inp area"
            aria-label={`Message of ${speaker}`}
            rows={Math.min(12, draft.split('\n').length + 1)}
            value={draft}
            // biome-ignore lint/a11y/noAutofocus: it replaces the button that opened it
            autoFocus
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Escape') setDraft(null)
              if (isSendKey(event)) save()
            }}
          />
          <span className="flex gap-2">
            <button type="submit" className="btn">
              Save
            </button>
            <button type="button" className="btn ghost" onClick={() => setDraft(null)}>
              Cancel
            </button>
          </span>
        </form>
      )}
      {isPriced && requestId !== null && (
        <p className="outcome">
          <Charge requestId={requestId} />
        </p>
      )}
    </li>
  )
}

function Content({ text, isAnswer }: { text: string; isAnswer: boolean }): ReactNode {
  if (text === '') return <p className="dimmed">…</p>
  if (!isAnswer) return <PlainText text={text} />
  return (
    <Suspense fallback={<PlainText text={text} />}>
      <Markdown text={text} />
    </Suspense>
  )
}

function PlainText({ text }: { text: string }) {
  return <p className="text">{text}</p>
}

interface ActProps {
  readonly icon: IconName
  readonly label: string
  readonly onClick: () => void
}

function Act({ icon, label, onClick }: ActProps) {
  return (
    <button type="button" className="iconb" aria-label={label} title={label} onClick={onClick}>
      <Icon name={icon} small />
    </button>
  )
}
