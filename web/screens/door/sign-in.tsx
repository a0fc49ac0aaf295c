import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { asBrowser } from '../../api/calls.ts'
import { startQuery } from '../../api/queries.ts'
import { Field } from '../../parts/field.tsx'
import { useServiceName } from '../../parts/service-name.tsx'
import { Door } from './door.tsx'
import { DoorForm } from './door-form.tsx'
import { OutsideWays } from './outside.tsx'
import { EMAIL, PASSWORD } from './sign-in-fields.ts'

const route = getRouteApi('/sign-in')

/** Sign-in by email address and password. */
export function SignIn() {
  const { next = '/' } = route.useSearch()
  const { data: start } = useQuery(startQuery)
  if (start?.setup_needed === true) {
    return (
      <Door
        title="Set up tollgate"
        lead="There is no user yet. Open the link that tollgate printed when it started: it makes the first operator."
      >
        <p className="note mt-4">
          Its address has <span className="mono">/app/setup#</span> in it. The link is valid for 24
          hours. A restart of <span className="mono">tollgate serve</span> prints a new one.
        </p>
      </Door>
    )
  }
  return (
    <Door title="Sign in" lead="See your keys, credit and requests.">
      {start?.secure === false && <Insecure />}
      <DoorForm
        send={({ email = '', password = '' }) => asBrowser('signIn', { email, password })}
        submit="Sign in"
        next={next}
      >
        {(wrong) => (
          <>
            <Field {...EMAIL} autoFocus error={wrong('email')} />
            <Field {...PASSWORD} error={wrong('password')} />
          </>
        )}
      </DoorForm>
      {start?.mail === true ? <ByMail next={next} isOpen={start.sign_up === 'open'} /> : <Lost />}
      <OutsideWays next={next} />
      {start?.sign_up === 'invited' && (
        <p className="note mt-4">No account yet? People join by invitation: ask the operator.</p>
      )}
    </Door>
  )
}

function ByMail({ next, isOpen }: { next: string; isOpen: boolean }) {
  return (
    <p className="mt-4 flex flex-wrap justify-between gap-x-4 gap-y-2">
      <Link to="/sign-in-by-mail" search={next === '/' ? {} : { next }} className="link">
        {isOpen ? 'Sign up or sign in by email' : 'Sign in by email'}
      </Link>
      <Link to="/forgot" className="link">
        Forgot your password?
      </Link>
    </p>
  )
}

function Lost() {
  return (
    <p className="note mt-4">
      Lost your password? Ask the person who runs this server for a link to choose a new one. On the
      server, <span className="mono">tollgate user reset</span> makes one.
    </p>
  )
}

/** Browsers keep a session only with TLS, or on the machine itself. */
function Insecure() {
  const service = useServiceName()
  return (
    <p className="problem mt-4" role="note">
      This address has no TLS, so you can’t sign in here. Open {service} over https, and set{' '}
      <span className="mono">TOLLGATE_PUBLIC_URL</span> to that address.
    </p>
  )
}
