import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { asOperator } from '../../api/calls.ts'
import { meQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { Field } from '../../parts/field.tsx'
import { useSignOut } from '../../shell/use-sign-out.ts'
import { Door } from './door.tsx'

/** A user without an account: operators make one, others wait for an invitation. */
export function NewAccount() {
  const { data: me } = useQuery(meQuery)
  const isOperator = me?.user.is_operator === true
  return (
    <Door
      title={isOperator ? 'Create an account' : 'No account yet'}
      lead={
        isOperator
          ? 'Keys and credit belong to an account. You become its owner.'
          : 'You are signed in, but you are not a member of any account. Ask the operator for an invitation.'
      }
    >
      {isOperator && <NewAccountForm />}
      <Leave email={me?.user.email ?? ''} />
    </Door>
  )
}

function Leave({ email }: { email: string }) {
  const signOut = useSignOut()
  return (
    <p className="note mt-4">
      Signed in as <b className="break-all">{email}</b>.{' '}
      <button type="button" className="link" onClick={signOut}>
        Sign out
      </button>
    </p>
  )
}

function NewAccountForm() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const create = useSend({
    mutationFn: (name: string) => asOperator('createOwnAccount', { name, email: null }),
    async onSuccess({ id }) {
      void queries.invalidateQueries({ queryKey: ['operator'] })
      await queries.invalidateQueries({ queryKey: meQuery.queryKey })
      await navigate({
        to: '/$account/overview',
        params: { account: id },
        // Back would lead to the form, and Enter would create a second account.
        replace: true,
      })
    },
  })
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    create.mutate(String(new FormData(event.currentTarget).get('name')))
  }
  return (
    <form className="mt-5 grid gap-4" onSubmit={send}>
      <Field label="Name" name="name" required autoFocus error={create.error?.message ?? null} />
      <button type="submit" className="btn pri h-10" aria-disabled={create.isPending}>
        Create account
      </button>
    </form>
  )
}
