import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { asBrowser } from '../../api/calls.ts'
import { meQuery, startQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { Field } from '../../parts/field.tsx'
import { Problem } from '../../parts/problem.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { ContactLink } from '../../parts/service-name.tsx'
import { useMe } from '../../shell/use-account.ts'
import { textsOf } from '../door/door-form.tsx'

/** The name of the user, and the email address, which changes once a link that is sent to the new one is used. */
export function NameAndEmail() {
  const { user } = useMe()
  const { data: start } = useQuery(startQuery)
  return (
    <section className="card" aria-label="Name and email">
      <header>
        <h2>Name and email</h2>
      </header>
      <NameForm />
      {start?.mail === true ? (
        <EmailForm key={user.email} />
      ) : (
        <p className="note px-[18px] pb-[18px]">
          You sign in with {user.email}. This server sends no email, so the address can’t be changed
          here:{' '}
          {user.is_operator ? (
            <>
              set <code>SMTP_URL</code>, or invite the new address.
            </>
          ) : (
            <>
              <ContactLink>ask the operator</ContactLink> to invite the new address.
            </>
          )}
        </p>
      )}
    </section>
  )
}

function NameForm() {
  const { user } = useMe()
  const queries = useQueryClient()
  const [isDone, setDone] = useState(false)
  const change = useSend({
    mutationFn: (name: string) => asBrowser('changeName', { name }),
    onSuccess: () => {
      setDone(true)
      return queries.invalidateQueries({ queryKey: meQuery.queryKey })
    },
  })
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    setDone(false)
    change.mutate(textsOf(event.currentTarget)['name'] ?? '')
  }
  const refusal = refusalOf(change.error, ['name'])
  return (
    <form className="grid gap-4 p-[18px]" onSubmit={send}>
      <Field
        label="Name"
        name="name"
        autoComplete="name"
        required
        defaultValue={user.name}
        error={refusal.at('name')}
      />
      <Problem text={refusal.rest} />
      <div className="flex items-center gap-3">
        <button type="submit" className="btn" aria-disabled={change.isPending}>
          Save the name
        </button>
        <span className="note" role="status">
          {isDone && 'Saved.'}
        </span>
      </div>
    </form>
  )
}

function EmailForm() {
  const { user } = useMe()
  const ask = useSend({
    mutationFn: (email: string) => asBrowser('mailNewEmailLink', { email }),
  })
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    ask.mutate(textsOf(event.currentTarget)['new_email'] ?? '')
  }
  const refusal = refusalOf(ask.error, ['email'])
  return (
    <form className="grid gap-4 px-[18px] pb-[18px]" onSubmit={send}>
      <Field
        label="New email"
        name="new_email"
        type="email"
        autoComplete="off"
        required
        hint={`You sign in with ${user.email}. We email a link to the new address, which replaces it once you confirm.`}
        error={refusal.at('email')}
      />
      <Problem text={refusal.rest} />
      <div className="grid justify-items-start gap-3">
        <button type="submit" className="btn" aria-disabled={ask.isPending}>
          Send link
        </button>
        <p className="note" role="status">
          {ask.isSuccess &&
            `If no other user has or had the address ${ask.variables}, an email is on its way to it. Its link works once, within 45 minutes, in a browser where you are signed in.`}
        </p>
      </div>
    </form>
  )
}
