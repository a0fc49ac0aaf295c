import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { CreatedApiKey } from '../../api/answers.ts'
import { accountQuery, keyPagesQuery } from '../../api/queries.ts'
import { counted } from '../../format/numbers.ts'
import { KEY_VARIABLE } from '../../parts/client-lines.ts'
import { Icon } from '../../parts/icon.tsx'
import { ListCard, Older } from '../../parts/list-card.tsx'
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
  const query = useInfiniteQuery({ ...keyPagesQuery(accountId), refetchInterval: 15_000 })
  const keys = query.data?.pages.flatMap(({ data }) => data)
  const { data: account } = useQuery(accountQuery(accountId))
  return (
    <ListCard
      label="Keys"
      query={query}
      rows={keys}
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
      <Older
        query={query}
        shown={`The newest ${counted(keys?.length ?? 0, 'key')}`}
        text="Older keys"
      />
    </ListCard>
  )
}
