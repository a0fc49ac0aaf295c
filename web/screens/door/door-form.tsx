import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Entered } from '../../api/answers.ts'
import { ApiError, forgetAnswers } from '../../api/client.ts'
import { meQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { counted } from '../../format/numbers.ts'
import { Problem } from '../../parts/problem.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { isOwnPath } from './own-path.ts'

type Fields = Readonly<Partial<Record<'email' | 'name' | 'password' | 'code', string>>>

/** A form of a door. */
export interface DoorFormProps {
  /** Sends its fields, by name. */
  readonly send: (fields: Fields) => Promise<Entered>
  readonly submit: string
  /** The page that is opened then. */
  readonly next?: string
  /** Fields of its own that the server may refuse. Default: none. */
  readonly ownFields?: readonly string[]
  /** The fields; each is given what the server says is wrong with it. */
  readonly children: (wrong: (name: string) => string | null) => ReactNode
}

/** A form whose answer is a session: its fields by name, and refusals that belong to no field. */
export function DoorForm({ send, submit, next = '/', ownFields = [], children }: DoorFormProps) {
  const enter = useEnter()
  const entry = useSend({
    mutationFn: send,
    // The fields have a password, which stays out of what is kept.
    gcTime: 0,
    onSuccess: (entered) => enter(entered, next),
  })
  const { error } = entry
  const refusal = refusalOf(error, ['email', 'name', 'password', ...ownFields])
  return (
    <form
      className="mt-5 grid gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        entry.mutate(textsOf(event.currentTarget))
      }}
    >
      {children(refusal.at)}
      <Problem text={refusal.rest && error && messageOf(error)} />
      <button
        type="submit"
        className="btn pri h-10"
        aria-disabled={entry.isPending || entry.isSuccess}
      >
        {submit}
      </button>
    </form>
  )
}

/** The texts that are typed into a form, by the names of its fields. */
export function textsOf(form: HTMLFormElement): Readonly<Record<string, string>> {
  return Object.fromEntries([...new FormData(form)].map(([name, typed]) => [name, String(typed)]))
}

/** Opens the page for a user who has just signed in, or asks for the second factor; `next`: where the user was going. */
export function useEnter() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return async (entered: Entered, next: string): Promise<void> => {
    queries.clear()
    forgetAnswers()
    const href = isOwnPath(next) ? next : '/'
    if (entered.object === 'factor_needed') {
      const search = href === '/' ? {} : { next: href }
      await navigate({ to: '/second-factor', search, replace: true })
      return
    }
    queries.setQueryData(meQuery.queryKey, entered)
    await navigate({ href, replace: true })
  }
}

/** The failure, with how long to wait, which most messages say themselves: `Try again in 10 minutes.` */
export function messageOf(error: Error): string {
  if (!(error instanceof ApiError)) return error.message
  const { code, message, retryAfterSeconds } = error
  if (code !== 'rate_limited' || retryAfterSeconds === null) return message
  if (/\bin \d+ (?:minute|hour)s?\b/.test(message)) return message
  const wait =
    retryAfterSeconds < 90
      ? counted(retryAfterSeconds, 'second')
      : `${Math.ceil(retryAfterSeconds / 60)} minutes`
  return `${message} Try again in ${wait}.`
}
