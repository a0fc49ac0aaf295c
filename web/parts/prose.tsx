/** Text of the table of errors: what is in backticks is code. */
export function Prose({ text }: { text: string }) {
  return text.split('`').map((piece, at) =>
    at % 2 === 1 ? (
      <code key={piece} className="mono">
        {piece}
      </code>
    ) : (
      piece
    ),
  )
}
