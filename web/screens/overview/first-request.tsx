import { Link } from '@tanstack/react-router'
import { KEY_VARIABLE } from '../../parts/client-lines.ts'
import { Snippet } from '../../parts/snippet.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { AddCreditLink } from './add-credit-link.tsx'

/** An account without requests: how to send the first. Without credit, that comes first. */
export function FirstRequest({ hasCredit }: { readonly hasCredit: boolean }) {
  const account = useAccountId()
  return (
    <>
      <section className="card blank">
        <h2>No requests yet</h2>
        <p>
          {hasCredit ? 'Create a key' : 'Add credit, create a key'}, put it into{' '}
          <span className="mono">{KEY_VARIABLE}</span> and run the line below. The request appears
          here and in Activity within seconds.
        </p>
        {!hasCredit && <p>Requests are refused until credit is added.</p>}
        <span className="flex flex-wrap gap-2">
          {!hasCredit && <AddCreditLink className="btn pri" />}
          <Link
            className={hasCredit ? 'btn pri' : 'btn'}
            to="/$account/keys"
            params={{ account }}
            search={{ create: true }}
          >
            Create a key
          </Link>
        </span>
      </section>
      <Snippet title="Send a request" apiKey={null} />
    </>
  )
}
