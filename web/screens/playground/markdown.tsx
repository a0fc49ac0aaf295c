import type { Token, Tokens } from 'marked'
import { Fragment, type ReactNode, useDeferredValue, useMemo } from 'react'
import { CodeLines } from '../../parts/code-lines.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { readMarkdown } from './markdown-tokens.ts'

/**
 * An answer in Markdown, drawn as elements from the tokens of a lexer. No HTML text is made of it, so that there is
 * nothing to sanitise: tags and images are shown as they were written.
 */
export function Markdown({ text }: { text: string }) {
  // An answer that is still written never holds up what a person does meanwhile.
  const shown = useDeferredValue(text)
  const tokens = useMemo(() => readMarkdown(shown), [shown])
  if (tokens === null) return <p className="text">{text}</p>
  return <div className="md">{blocks(tokens)}</div>
}

function blocks(tokens: readonly Token[]): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: an answer only grows at its end
  return tokens.map((token, at) => <Fragment key={at + token.type}>{block(token)}</Fragment>)
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      // The page has its own headings above: an answer's are not part of its outline.
      return <p className={`h h-${token['depth']}`}>{inline(token['tokens'])}</p>
    case 'code':
      return <CodeBlock token={token as Tokens.Code} />
    case 'blockquote':
      return <blockquote>{blocks(token['tokens'] ?? [])}</blockquote>
    case 'hr':
      return <hr />
    case 'list':
      return <List token={token as Tokens.List} />
    case 'table':
      return <Table token={token as Tokens.Table} />
    case 'text':
      return inline(token['tokens'] ?? [token])
    case 'paragraph':
      return <p>{inline(token['tokens'])}</p>
    default:
      return <p>{token.raw}</p>
  }
}

function CodeBlock({ token: { lang = '', text } }: { token: Tokens.Code }) {
  return (
    <div className="code">
      <header>
        <span>{lang === '' ? 'code' : lang}</span>
        <CopyButton text={text} label="Copy the code" bare />
      </header>
      <CodeLines lines={text} />
    </div>
  )
}

function List({ token: { ordered, start, items } }: { token: Tokens.List }) {
  const rows = items.map((item, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: an answer only grows at its end
    <li key={at}>
      {item.task === true && (
        <input type="checkbox" checked={item.checked === true} disabled aria-label="Task" />
      )}{' '}
      {blocks(item.tokens.filter(({ type }) => type !== 'checkbox'))}
    </li>
  ))
  return ordered ? <ol start={start === '' ? 1 : start}>{rows}</ol> : <ul>{rows}</ul>
}

function Table({ token: { header, rows } }: { token: Tokens.Table }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls sideways is reached by keys
    <section className="wide-table" tabIndex={0} aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens, align }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name
              <th key={at} scope="col" className={align === 'right' ? 'num' : ''}>
                {inline(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            <tr key={at}>
              {row.map(({ tokens, align }, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <td key={column} className={align === 'right' ? 'num' : ''}>
                  {inline(tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function inline(tokens: readonly Token[] | undefined): ReactNode {
  return (tokens ?? []).map((token, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: as above
    <Fragment key={at + token.type}>{piece(token)}</Fragment>
  ))
}

function piece(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return <b>{inline(token['tokens'])}</b>
    case 'em':
      return <em>{inline(token['tokens'])}</em>
    case 'del':
      return <del>{inline(token['tokens'])}</del>
    case 'codespan':
      return <code className="mono">{token['text']}</code>
    case 'br':
      return <br />
    case 'escape':
      return token['text']
    case 'text':
      return token['tokens'] === undefined ? unescaped(token['text']) : inline(token['tokens'])
    case 'link':
      return <SafeLink href={token['href']} raw={token.raw} tokens={token['tokens'] ?? []} />
    default:
      return token.raw
  }
}

const SAFE_HREF = /^(?:https?:\/\/|mailto:)/i

interface SafeLinkProps {
  readonly href: string
  /** As it was written. */
  readonly raw: string
  readonly tokens: readonly Token[]
}

function SafeLink({ href, raw, tokens }: SafeLinkProps) {
  if (!SAFE_HREF.test(href)) return raw
  return (
    <a className="link" href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {inline(tokens)}
    </a>
  )
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': '\u00a0',
}

function unescaped(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => ENTITIES[entity] ?? entity)
}
