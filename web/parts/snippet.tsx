import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccountId, useMe } from '../shell/use-account.ts'
import { clientOf, keyLine } from './client-lines.ts'
import { CodeLines } from './code-lines.tsx'
import { CopyButton } from './copy-button.tsx'
import { Segments } from './segments.tsx'
import { useExampleModel } from './use-models.ts'

interface SnippetProps {
  readonly title: string
  /** The text of a key that was just made. */
  readonly apiKey: string | null
}

const TABS = [
  { value: 'curl', text: 'curl' },
  { value: 'openai-python', text: 'Python' },
  { value: 'openai-js', text: 'TypeScript' },
  { value: 'claude-code', text: 'Agents' },
] as const

type Tab = (typeof TABS)[number]['value']

/** Lines to copy that use a key; Connect has those of more clients. */
export function Snippet({ title, apiKey }: SnippetProps) {
  const [tab, setTab] = useState<Tab>('curl')
  const model = useExampleModel()
  const account = useAccountId()
  const { language, lines: linesOf } = clientOf(tab)
  const own = linesOf({ baseUrl: useMe().base_url, model })
  const lines = apiKey !== null && language === 'sh' ? `${keyLine(apiKey)}\n${own}` : own
  return (
    <section className="card snip" aria-label={title}>
      <header className="flex-wrap">
        <h2>{title}</h2>
        <Segments label="Client" options={TABS} value={tab} onChange={setTab} />
        <CopyButton text={lines} label="Copy the lines" className="hide-s" />
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
