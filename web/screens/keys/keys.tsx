import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { CreatedApiKey } from '../../api/answers.ts'
import { accountQuery, keysQuery } from '../../api/queries.ts'
import { KEY_VARIABLE } from '../../parts/client-lines.ts'
import { Icon } from '../../parts/icon.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { MadeSecret } from '../../parts/made-secret.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Empty } from '../../parts/states.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { CreateKey } from './key-dialogs.tsx'
import { KEY_HEADS, KeyRow } from './key-row.tsx'

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
      {made !== null && (
        <MadeSecret
          title={`Key “${made.name}” is ready`}
          text={made.key}
          noun="key"
          onDone={() => setMade(null)}
        />
      )}
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
  const { data: account } = useQuery(accountQuery(accountId))
  const { data } = query
  return (
    <ListCard
      label="Keys"
      query={query}
      rows={data?.data}
      failed="The keys could not be read."
      empty={
        <Empty title="No keys yet">
          <p>
            A key is what a client sends with each request. Create one, give it a limit if you like,
            and put it into <span className="mono">{KEY_VARIABLE}</span> for the lines below.
          </p>
        </Empty>
      }
      heads={KEY_HEADS}
      greyRows={4}
      row={(apiKey) => (
        <KeyRow
          key={apiKey.id}
          apiKey={apiKey}
          availableMicros={account?.credit.backed.available ?? null}
        />
      )}
    >
      {data?.has_more === true && (
        <p className="pager">The newest {data.data.length} keys. `tollgate key list` has all.</p>
      )}
    </ListCard>
  )
}
