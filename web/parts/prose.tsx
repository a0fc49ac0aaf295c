/** A text of the server: what is in backticks is code. */
export function Prose({ text }: { text: string }) {
  return text.split('`').map((piece, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: a name can be in a text twice, and its place does not change
      <code key={at} className="mono">
        {piece}
      </code>
    ) : (
      piece
    ),
  )
}
