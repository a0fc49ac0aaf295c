import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useAskedAgain } from '../parts/asked-again.ts'
import { CloseFooter, Dialog } from '../parts/dialog.tsx'
import { SignInElsewhere } from '../parts/sign-in-elsewhere.tsx'

// With the parts of the sign-in, when it is first asked for.
const AskedAgain = lazy(() =>
  import('../screens/door/asked-again.tsx').then(
    ({ AskedAgain }) => ({ default: AskedAgain }),
    () => ({ default: NotLoaded }),
  ),
)

/** Without the script, as after an upgrade, the change is kept, and a sign-in elsewhere lets it be sent. */
function NotLoaded({ answer }: { readonly answer: (isRight: boolean) => void }) {
  return (
    <Dialog title="Enter your password" onClose={() => answer(false)}>
      <p>The change needs your password, but this part of the page could not be loaded.</p>
      <SignInElsewhere />
      <CloseFooter />
    </Dialog>
  )
}

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
