import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { ApiKey, CreatedApiKey } from '../../api/answers.ts'
import { accountQuery, keysQuery } from '../../api/queries.ts'
import { KEY_VARIABLE } from '../../parts/client-lines.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Empty, Failed, GreyRows, Stale } from '../../parts/states.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { CreateKey } from './key-dialogs.tsx'
import { KeyHeads, KeyRow } from './key-row.tsx'

const route = getRouteApi('/$account/keys')

/** The keys of an account: making, changing and deleting them. */
export function KeysScreen() {
  useTitle('Keys')
  const { create = false } = route.useSearch()
  const navigate = route.useNavigate()
  // In the memory of this page alone, until it is left.
  const [made, setMade] = useState<CreatedApiKey | null>(null)
  const setCreating = (isCreating: boolean) =>
    navigate({ search: isCreating ? { create: true } : {}, replace: true })
  return (
    <>
      <div className="top">
        <h1>Keys</h1>
        <button type="button" className="btn pri" onClick={() => setCreating(true)}>
          <Icon name="plus" />
          Create key
        </button>
      </div>
      {made !== null && <MadeKey made={made} onDone={() => setMade(null)} />}
      <KeyTable />
      <Snippet title="Use it" apiKey={made?.key ?? null} />
      {create && (
        <CreateKey
          onClose={() => setCreating(false)}
          onMade={(key) => {
            setMade(key)
            void setCreating(false)
          }}
        />
      )}
    </>
  )
}

function KeyTable() {
  const accountId = useAccountId()
  const query = useQuery({ ...keysQuery(accountId), refetchInterval: 15_000 })
  const { data } = query
  if (data === undefined && query.isError) {
    return (
      <section className="card">
        <Failed
          what="The keys could not be read."
          error={query.error}
          onRetry={() => query.refetch()}
        />
      </section>
    )
  }
  if (data?.data.length === 0) {
    return (
      <section className="card">
        <Empty title="No keys yet">
          <p>
            A key is what a client sends with each request. Create one, give it a limit if you like,
            and put it into <span className="mono">{KEY_VARIABLE}</span> for the lines below.
          </p>
        </Empty>
      </section>
    )
  }
  return (
    <section className="card overflow-hidden" aria-label="Keys" aria-busy={data === undefined}>
      <Stale query={query} />
      <table className="cards">
        <KeyHeads />
        {data === undefined ? (
          <GreyRows rows={4} columns={7} />
        ) : (
          <Rows accountId={accountId} keys={data.data} />
        )}
      </table>
      {data?.has_more === true && (
        <p className="pager">The newest {data.data.length} keys. `tollgate key list` has all.</p>
      )}
    </section>
  )
}

function Rows({ accountId, keys }: { accountId: string; keys: readonly ApiKey[] }) {
  const { data: account } = useQuery(accountQuery(accountId))
  return (
    <tbody>
      {keys.map((apiKey) => (
        <KeyRow
          key={apiKey.id}
          apiKey={apiKey}
          availableMicros={account?.credit.backed.available ?? null}
        />
      ))}
    </tbody>
  )
}

/** A key that was just made: the only time that its text is shown. */
function MadeKey({ made, onDone }: { made: CreatedApiKey; onDone: () => void }) {
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => {
    ref.current?.focus()
  }, [])
  return (
    <section className="made" aria-labelledby="made-title">
      <Icon name="check" />
      <div>
        <h2 id="made-title">Key “{made.name}” is ready</h2>
        <p>Copy it now: it is shown this once, and only its SHA-256 is stored.</p>
      </div>
      <div className="secret">
        <input
          ref={ref}
          className="mono"
          readOnly
          value={made.key}
          aria-label="The new key"
          autoComplete="off"
          onFocus={(event) => event.target.select()}
        />
        <CopyButton text={made.key} label="Copy the key" />
        <button type="button" className="btn ghost" onClick={onDone}>
          Done
        </button>
      </div>
    </section>
  )
}
