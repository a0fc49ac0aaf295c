import type { FormEvent, KeyboardEvent, ReactNode } from 'react'
import { commandKey } from '../../parts/command-key.ts'
import { Icon } from '../../parts/icon.tsx'
import type { Role } from './chat-store.ts'

interface ComposerProps {
  /** The typed text. */
  readonly draft: string
  readonly onDraft: (draft: string) => void
  readonly isRunning: boolean
  /** Whether the conversation can be sent in its present state. */
  readonly canContinue: boolean
  /** Whether the settings can be sent. */
  readonly isReady: boolean
  /** The hold that the next request would need. */
  readonly estimate: ReactNode
  readonly onSend: (content: string) => void
  readonly onAdd: (role: Role, content: string) => void
  readonly onStop: () => void
}

/** Writes the next message; Ctrl+Enter, or ⌘ Enter, sends it. */
export function Composer(props: ComposerProps) {
  const { draft: content, onDraft: setContent, isRunning, canContinue, isReady } = props
  const { estimate, onSend, onAdd, onStop } = props
  const hasContent = content.trim() !== ''
  const canSend = isReady && !isRunning && (hasContent || canContinue)
  const send = () => {
    if (!canSend) return
    onSend(hasContent ? content : '')
    setContent('')
  }
  const add = (role: Role) => {
    onAdd(role, content)
    setContent('')
  }
  return (
    <form
      className="composer"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        className="inp area"
        aria-label="Message"
        rows={3}
        placeholder="Write a message"
        value={content}
        onChange={(event) => setContent(event.target.value)}
        onKeyDown={(event) => {
          if (!isSendKey(event)) return
          event.preventDefault()
          send()
        }}
      />
      <div className="row">
        <div className="hold">{estimate}</div>
        {hasContent && !isRunning && (
          <>
            <button type="button" className="btn ghost" onClick={() => add('user')}>
              Add
            </button>
            <button type="button" className="btn ghost" onClick={() => add('assistant')}>
              Add as answer
            </button>
          </>
        )}
        <span className="note hide-s">
          <kbd>{commandKey()}</kbd> <kbd>Enter</kbd> sends
        </span>
        {isRunning ? (
          // Its own element: one that turned into Send under the click would send.
          <button key="stop" type="button" className="btn" onClick={onStop}>
            <Icon name="stop" small />
            Stop
          </button>
        ) : (
          <button key="send" type="submit" className="btn pri" disabled={!canSend}>
            Send
          </button>
        )}
      </div>
    </form>
  )
}

/** Whether a key press is Ctrl+Enter or ⌘ Enter. */
export function isSendKey({ key, ctrlKey, metaKey }: KeyboardEvent): boolean {
  return key === 'Enter' && (ctrlKey || metaKey)
}
