import { quotedPieces } from './client-lines.ts'

/** Lines of a program or a terminal, with quoted texts in another colour. */
export function CodeLines({ lines }: { lines: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways is reached by keys
    <pre className="mono" tabIndex={0}>
      {quotedPieces(lines).map(({ text, isQuoted }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have no other name
        <span key={at} className={isQuoted ? 's' : ''}>
          {text}
        </span>
      ))}
    </pre>
  )
}
