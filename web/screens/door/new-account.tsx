import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { asOperator } from '../../api/calls.ts'
import { meQuery } from '../../api/queries.ts'
import { Field } from '../../parts/field.tsx'
import { Door } from './door.tsx'

/** A user without an account: operators make one, others wait for an invitation. */
export function NewAccount() {
  const { data: me } = useQuery(meQuery)
  if (me?.user.is_operator !== true) {
    return (
      <Door
        title="No account yet"
        lead="You are signed in, but you are not a member of any account. Ask the operator for an invitation."
      />
    )
  }
  return (
    <Door
      title="Create an account"
      lead="Keys and credit belong to an account. You become its owner."
    >
      <NewAccountForm />
    </Door>
  )
}

function NewAccountForm() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: (name: string) => asOperator('createOwnAccount', { name, email: null }),
    async onSuccess({ id }) {
      await queries.invalidateQueries({ queryKey: meQuery.queryKey })
      await navigate({ to: '/$account/overview', params: { account: id } })
    },
  })
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    create.mutate(String(new FormData(event.currentTarget).get('name')))
  }
  return (
    <form className="mt-5 grid gap-4" onSubmit={send}>
      <Field label="Name" name="name" required autoFocus error={create.error?.message ?? null} />
      <button type="submit" className="btn pri h-10" disabled={create.isPending}>
        Create account
      </button>
    </form>
  )
}
