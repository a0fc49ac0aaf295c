import { useRouter } from '@tanstack/react-router'
import { ApiError } from '../api/client.ts'
import { Failed, PageBroken } from '../parts/states.tsx'
import { useTitle } from '../parts/use-title.ts'

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

/** A screen that could not be shown, with the sections around it. */
export function ScreenFailed({ error }: { error: Error }) {
  const router = useRouter()
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
