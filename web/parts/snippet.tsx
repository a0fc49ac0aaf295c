import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { mayUse } from '../format/model-lists.ts'
import type { Terms } from '../format/terms.ts'
import { useAccountId, useMe } from '../shell/use-account.ts'
import { clientOf, keyLine } from './client-lines.ts'
import { CodeLines } from './code-lines.tsx'
import { CopyButton } from './copy-button.tsx'
import { Segments } from './segments.tsx'
import { useExampleModel, useModels } from './use-models.ts'

interface SnippetProps {
  readonly title: string
  /** The text of a key that was just made. */
  readonly apiKey: string | null
  /** The models that the key can use. Default: all. */
  readonly lists?: Terms['models']
  /** Called once lines with the key were copied. */
  readonly onKeyCopied?: () => void
}

const TABS = [
  { value: 'curl', text: 'curl' },
  { value: 'openai-python', text: 'Python' },
  { value: 'openai-js', text: 'TypeScript' },
  { value: 'claude-code', text: 'Claude Code' },
] as const

type Tab = (typeof TABS)[number]['value']

/** Lines to copy that use a key; Connect has those of more clients. */
export function Snippet({ title, apiKey, lists = null, onKeyCopied }: SnippetProps) {
  const [picked, setPicked] = useState<Tab>('curl')
  const account = useAccountId()
  const models = useModels(['chat', 'messages']).filter(({ id }) => mayUse(lists, id))
  // The clients that can use a model of this gateway; all clients until the models are loaded.
  const tabs = TABS.filter(
    ({ value }) =>
      models.length === 0 ||
      models.some(({ endpoints }) => endpoints.includes(clientOf(value).speaks)),
  )
  const tab = tabs.some(({ value }) => value === picked) ? picked : (tabs[0]?.value ?? picked)
  const { language, speaks, lines: linesOf } = clientOf(tab)
  const model = useExampleModel(speaks, lists)
  const own = linesOf({ baseUrl: useMe().base_url, model })
  const hasKey = apiKey !== null && language === 'sh'
  const lines = hasKey ? `${keyLine(apiKey)}\n${own}` : own
  return (
    <section className="card snip" aria-label={title}>
      <header className="flex-wrap">
        <h2>{title}</h2>
        <Segments label="Client" options={tabs} value={tab} onChange={setPicked} />
        <CopyButton
          text={lines}
          label="Copy the lines"
          className="hide-s"
          onCopied={() => hasKey && onKeyCopied?.()}
        />
      </header>
      <CodeLines lines={lines} />
      <p className="pager">
        <Link className="link" to="/$account/connect" params={{ account }} search={{ client: tab }}>
          More clients
        </Link>
      </p>
    </section>
  )
}
