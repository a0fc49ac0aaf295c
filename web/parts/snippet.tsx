import { useState } from 'react'
import { useMe } from '../shell/use-account.ts'
import { CLIENTS, type Client, clientLines, quotedPieces } from './client-lines.ts'
import { CopyButton } from './copy-button.tsx'
import { Segments } from './segments.tsx'
import { useExampleModel } from './use-example-model.ts'

interface SnippetProps {
  readonly title: string
  /** The text of a key that was just made. */
  readonly apiKey: string | null
}

/** Lines to copy that use a key. */
export function Snippet({ title, apiKey }: SnippetProps) {
  const [client, setClient] = useState<Client>('curl')
  const model = useExampleModel()
  const lines = clientLines(client, { baseUrl: useMe().base_url, model, apiKey })
  return (
    <section className="card snip" aria-label={title}>
      <header className="flex-wrap">
        <h2>{title}</h2>
        <Segments label="Client" options={CLIENTS} value={client} onChange={setClient} />
        <CopyButton text={lines} label="Copy the lines" className="hide-s" />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways is reached by keys */}
      <pre className="mono" tabIndex={0}>
        {quotedPieces(lines).map(({ text, isQuoted }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have no other name
          <span key={at} className={isQuoted ? 's' : ''}>
            {text}
          </span>
        ))}
      </pre>
    </section>
  )
}
