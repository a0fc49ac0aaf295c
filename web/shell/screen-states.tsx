import { Link, useRouter } from '@tanstack/react-router'
import { ApiError } from '../api/client.ts'
import { Failed, PageBroken } from '../parts/states.tsx'
import { useTitle } from '../parts/use-title.ts'
import { useIsTab } from './account-screen.tsx'

/** An address that is no page, with the sections around it. */
export function ScreenNotFound() {
  useTitle('Page not found')
  return (
    <section className="card blank">
      <h1 className="text-[16px] font-semibold">Page not found</h1>
      <p>Check the address, or choose a section.</p>
    </section>
  )
}

/** An account that does not exist, or of which the user is not a member, or no longer. */
export function AccountNotFound() {
  useTitle('Account not found')
  return (
    <section className="card blank">
      <h1 className="text-[16px] font-semibold">Account not found</h1>
      <p>
        It does not exist, or you are not a member of it.{' '}
        <Link className="link" to="/">
          Back to start
        </Link>
      </p>
    </section>
  )
}

/** A screen that could not be shown, with the sections around it. */
export function ScreenFailed({ error }: { error: Error }) {
  const router = useRouter()
  useTitle(useIsTab() ? null : 'The page could not be shown')
  return (
    <section className="card">
      <h1 className="vh">The page could not be shown</h1>
      {error instanceof ApiError ? (
        <Failed
          what="The page could not be shown."
          query={{ error, refetch: () => void router.invalidate() }}
        />
      ) : (
        <PageBroken error={error} />
      )}
    </section>
  )
}
