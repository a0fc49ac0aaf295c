import { ago } from '../format/time.ts'
import { useNow } from './now.ts'
import { Time } from './time.tsx'

/** When a key or a token was last used, below its head or, on a phone, after a word; null: it never was. */
export function LastUsed({ at }: { readonly at: string | null }) {
  const now = useNow()
  if (at === null) {
    return (
      <span className="dimmed">
        <span className="only-s">Never used</span>
        <span className="hide-s">never</span>
      </span>
    )
  }
  return (
    <>
      <span className="only-s dimmed">Used </span>
      <Time at={new Date(at)}>{ago(new Date(at), now)}</Time>
    </>
  )
}
