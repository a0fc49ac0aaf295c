import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
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
  const [error, setError] = useState<string | null>(null)
  const create = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const name = String(new FormData(event.currentTarget).get('name'))
    try {
      const account = await asOperator('createOwnAccount', { name, email: null })
      await queries.invalidateQueries({ queryKey: meQuery.queryKey })
      await navigate({ to: '/$account/overview', params: { account: account.id } })
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown))
    }
  }
  return (
    <form className="mt-5 grid gap-4" onSubmit={create}>
      <Field label="Name" name="name" required autoFocus error={error} />
      <button type="submit" className="btn pri h-10">
        Create account
      </button>
    </form>
  )
}
