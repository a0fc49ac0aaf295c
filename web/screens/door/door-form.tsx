import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Me } from '../../api/answers.ts'
import { ApiError, forgetAnswers, write } from '../../api/client.ts'
import { meQuery } from '../../api/queries.ts'
import { isOwnPath } from './own-path.ts'

interface DoorFormProps {
  /** Where it is sent. */
  readonly path: string
  /** What is sent beside the fields. */
  readonly body?: Readonly<Record<string, string>>
  readonly submit: string
  /** Where the user goes then. */
  readonly next?: string
  /** Fields of its own that the server may refuse. Default: none. */
  readonly ownFields?: readonly string[]
  /** The fields; each is given what the server says is wrong with it. */
  readonly children: (wrong: (name: string) => string | null) => ReactNode
}

/** A form whose answer is a session: its fields by name, and what the server refuses beside them. */
export function DoorForm({
  path,
  body = {},
  submit,
  next = '/',
  ownFields = [],
  children,
}: DoorFormProps) {
  const enter = useEnter()
  const [error, setError] = useState<Error | null>(null)
  const [isSending, setSending] = useState(false)
  const send = async (form: HTMLFormElement) => {
    setSending(true)
    setError(null)
    try {
      const fields = Object.fromEntries(new FormData(form))
      const me = await write<Me>('POST', path, { ...body, ...fields })
      await enter(me, next)
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown : new Error(String(thrown)))
      setSending(false)
    }
  }
  const param = error instanceof ApiError ? error.param : null
  const fieldNames = ['email', 'name', 'password', ...ownFields]
  const isOfField = param !== null && fieldNames.includes(param)
  return (
    <form
      className="mt-5 grid gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        void send(event.currentTarget)
      }}
    >
      {children((name) => (error !== null && param === name ? error.message : null))}
      {error !== null && !isOfField && (
        <p className="problem" role="alert">
          {messageOf(error)}
        </p>
      )}
      <button type="submit" className="btn pri h-10" disabled={isSending}>
        {submit}
      </button>
    </form>
  )
}

/** Opens the page for a user who has just signed in; `next`: where the user was going. */
export function useEnter() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return async (me: Me, next: string): Promise<void> => {
    queries.clear()
    forgetAnswers()
    queries.setQueryData(meQuery.queryKey, me)
    await navigate({ href: isOwnPath(next) ? next : '/', replace: true })
  }
}

/** What went wrong, with how long to wait. */
export function messageOf(error: Error): string {
  if (!(error instanceof ApiError)) return error.message
  const { retryAfterSeconds } = error
  if (error.code !== 'rate_limited' || retryAfterSeconds === null) return error.message
  const wait =
    retryAfterSeconds < 90
      ? `${retryAfterSeconds} seconds`
      : `${Math.ceil(retryAfterSeconds / 60)} minutes`
  return `${error.message} Try again in ${wait}.`
}
