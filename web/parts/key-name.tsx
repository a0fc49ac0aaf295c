import type { Overview } from '../api/answers.ts'

type KeyNameProps = Pick<Overview['keys'][number], 'name' | 'prefix' | 'deleted'>

/** A key in a list: its name on one line, below it the start of its text. */
export function KeyName({ name, prefix, deleted }: KeyNameProps) {
  return (
    <>
      <b title={name}>{name}</b>
      <span className="two">
        <span className="mono">{prefix}</span>
        {deleted && ' deleted'}
      </span>
    </>
  )
}
