import { ago } from '../format/time.ts'
import { Time } from './time.tsx'

/** When a key or a token was last used, below its head or, on a phone, after a word; null: it never was. */
export function LastUsed({ at }: { readonly at: string | null }) {
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
      <Time at={at} show={ago} />
    </>
  )
}
