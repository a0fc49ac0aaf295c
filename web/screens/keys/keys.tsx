import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { CreatedApiKey } from '../../api/answers.ts'
import { accountQuery, keyPagesQuery } from '../../api/queries.ts'
import { AddButton } from '../../parts/buttons.tsx'
import { KEY_VARIABLE } from '../../parts/client-lines.ts'
import { FindField } from '../../parts/find-field.tsx'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { MadeSecret } from '../../parts/made-secret.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Empty } from '../../parts/states.tsx'
import { useMade } from '../../parts/use-made.ts'
import { useSettled } from '../../parts/use-settled.ts'
import type { KeysSearch } from '../../searches.ts'
import { ScreenTop, useScreenSearch } from '../../shell/account-screen.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { ChangeKey, CreateKey, DeleteKey, DisableKey } from './key-dialogs.tsx'
import { KEY_HEADS, KeyRow, type OpenedKey } from './key-row.tsx'
import { RotateKey } from './rotate-key.tsx'

const FIND_AFTER_MS = 200

/** The keys of an account: making, changing and deleting them. */
export function KeysScreen() {
  const { search, change } = useScreenSearch<KeysSearch>()
  const { create = false, find = '' } = search
  const made = useMade<CreatedApiKey>()
  const [newest = null] = made.things
  // With the lines below.
  const [copied, setCopied] = useState<readonly string[]>([])
  const end = (keyId: string) => made.end(({ id }) => id === keyId)
  const show = (key: CreatedApiKey) => {
    // Rotated again, it has only its last text.
    end(key.id)
    made.add(key)
  }
  const setCreating = (isCreating: boolean) =>
    // Back closes the form.
    change(({ create: _, ...rest }) => (isCreating ? { ...rest, create: true } : rest), {
      replace: !isCreating,
    })
  return (
    <>
      <ScreenTop title="Keys">
        <AddButton onClick={() => setCreating(true)}>Create key</AddButton>
      </ScreenTop>
      {made.things.map(({ id, name, key }) => (
        <MadeSecret
          key={key}
          title={`Key “${name}” is ready`}
          text={key}
          noun="key"
          wasCopied={copied.includes(key)}
          onDone={() => end(id)}
        />
      ))}
      <KeyTable
        find={find}
        onFind={(text) =>
          change(({ find: _, ...rest }) => (text === '' ? rest : { ...rest, find: text }), {
            replace: true,
            resetScroll: false,
          })
        }
        onRotated={show}
        onDeleted={end}
      />
      <Snippet
        title="Use it"
        apiKey={newest?.key ?? null}
        lists={newest?.models ?? null}
        onKeyCopied={() => newest !== null && setCopied([...copied, newest.key])}
      />
      {create && (
        <CreateKey
          onClose={() => setCreating(false)}
          onMade={(key) => {
            show(key)
            setCreating(false)
          }}
        />
      )}
    </>
  )
}

interface KeyTableProps {
  /** A part of the name or prefix. Empty: all keys. */
  readonly find: string
  readonly onFind: (text: string) => void
  readonly onRotated: (key: CreatedApiKey) => void
  readonly onDeleted: (keyId: string) => void
}

function KeyTable({ find, onFind, ...changed }: KeyTableProps) {
  const accountId = useAccountId()
  const search = useSettled(find.trim(), FIND_AFTER_MS)
  const query = useInfiniteQuery({
    ...keyPagesQuery(accountId, search),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })
  const { data: account } = useQuery(accountQuery(accountId))
  // Here and not in the row, which leaves when the key is deleted elsewhere, with all that was typed.
  const [opened, setOpened] = useState<OpenedKey | null>(null)
  return (
    <ListCard
      label="Keys"
      header={
        find === '' && query.data !== undefined && query.data.pages[0]?.data.length === 0 ? null : (
          <header>
            <FindField
              label="Name or prefix of a key"
              placeholder="Find by name or prefix"
              value={find}
              onChange={onFind}
            />
          </header>
        )
      }
      query={query}
      rows={query.data?.pages.flatMap(({ data }) => data)}
      empty={
        search !== '' ? (
          <Empty title={`No key matches “${search}”.`}>
            <button type="button" className="btn" onClick={() => onFind('')}>
              Show all keys
            </button>
          </Empty>
        ) : (
          <Empty title="No keys.">
            <p>
              Clients send a key with each request. Create one, with or without a limit, and put it
              into <span className="mono">{KEY_VARIABLE}</span> for the lines below.
            </p>
          </Empty>
        )
      }
      heads={KEY_HEADS}
      greyRows={4}
      row={(apiKey) => (
        <KeyRow
          key={apiKey.id}
          apiKey={apiKey}
          availableMicros={account?.credit.backed.available ?? null}
          onOpen={setOpened}
        />
      )}
    >
      <Older query={query} noun="key" />
      {opened !== null && (
        <KeyDialog opened={opened} {...changed} onClose={() => setOpened(null)} />
      )}
    </ListCard>
  )
}

interface KeyDialogProps extends Pick<KeyTableProps, 'onRotated' | 'onDeleted'> {
  readonly opened: OpenedKey
  readonly onClose: () => void
}

function KeyDialog({ opened, onRotated, onDeleted, onClose }: KeyDialogProps) {
  const { what, apiKey } = opened
  const rotated = (key: CreatedApiKey) => {
    onClose()
    onRotated(key)
  }
  switch (what) {
    case 'change':
      return <ChangeKey apiKey={apiKey} onClose={onClose} />
    case 'rotate':
      return <RotateKey apiKey={apiKey} onRotated={rotated} onClose={onClose} />
    case 'disable':
      return <DisableKey apiKey={apiKey} onClose={onClose} />
    case 'delete':
      return <DeleteKey apiKey={apiKey} onDeleted={onDeleted} onClose={onClose} />
  }
}
