/** A model's id, with its author in grey. */
export function ModelName({ id }: { id: string }) {
  const slash = id.indexOf('/') + 1
  return (
    <>
      {slash > 0 && <span>{id.slice(0, slash)}</span>}
      {id.slice(slash)}
    </>
  )
}
