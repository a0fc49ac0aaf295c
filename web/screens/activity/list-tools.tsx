import { useState } from 'react'
import { minuteTime } from '../../format/time.ts'
import { FindField } from '../../parts/find-field.tsx'
import type { Following } from './use-activity.ts'

/** Opens a request by its ID. */
export function Find({ onFind }: { onFind: (requestId: string) => void }) {
  const [text, setText] = useState('')
  return (
    <form
      className="contents"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() === '') return
        onFind(text.trim())
        setText('')
      }}
    >
      <FindField label="Request ID" placeholder="Request ID" value={text} onChange={setText} />
    </form>
  )
}

interface LiveProps {
  readonly isLive: boolean
  readonly following: Following
  readonly onLive: (isLive: boolean) => void
}

/** Shows whether the list is live, and pauses it. */
export function Live({ isLive, following, onLive }: LiveProps) {
  return (
    <button
      type="button"
      className={following.kind === 'live' ? 'btn live' : 'btn live away'}
      aria-pressed={isLive}
      onClick={() => onLive(!isLive)}
    >
      <span className="dot" />
      {isLive ? followingText(following) : 'Paused'}
    </button>
  )
}

function followingText(following: Following): string {
  switch (following.kind) {
    case 'live':
      return 'Live'
    case 'reconnecting':
      return 'Reconnecting…'
    case 'offline':
      return `Offline since ${minuteTime(following.since)}`
  }
}
