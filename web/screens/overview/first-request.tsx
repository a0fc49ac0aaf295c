import { Link } from '@tanstack/react-router'
import { KEY_VARIABLE } from '../../parts/client-lines.ts'
import { Snippet } from '../../parts/snippet.tsx'
import { useAccountId } from '../../shell/use-account.ts'

/** An account without requests: how to send the first. */
export function FirstRequest() {
  const account = useAccountId()
  return (
    <>
      <section className="card blank">
        <h2>No requests yet</h2>
        <p>
          Create a key, put it into <span className="mono">{KEY_VARIABLE}</span> and run the line
          below. The request appears here and in Activity within seconds.
        </p>
        <Link
          className="btn pri"
          to="/$account/keys"
          params={{ account }}
          search={{ create: true }}
        >
          Create a key
        </Link>
      </section>
      <Snippet title="Send a request" apiKey={null} />
    </>
  )
}
