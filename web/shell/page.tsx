import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useAskedAgain } from '../parts/asked-again.ts'

// With the parts of the sign-in, when it is first asked for.
const AskedAgain = lazy(async () => ({
  default: (await import('../screens/door/asked-again.tsx')).AskedAgain,
}))

/** The whole page: a screen, and the dialog of a change that waits for the password. */
export function Page() {
  const answer = useAskedAgain()
  return (
    <>
      <Outlet />
      {answer !== null && (
        <Suspense>
          <AskedAgain answer={answer} />
        </Suspense>
      )}
    </>
  )
}
