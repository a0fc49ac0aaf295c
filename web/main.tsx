import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/client.ts'
import { setSessionEnded } from './parts/session-end.ts'
import { hasUnsaved } from './parts/unsaved.ts'
import { createPageRouter } from './routes.tsx'
import { keepFocus } from './shell/kept-focus.ts'
import './styles/page.css'

const RETRIES_MAX = 2
// A browser that calls itself offline may still reach the gateway, and what is sent is not kept for later.
const NETWORK_MODE = 'always'

const queries = new QueryClient({
  queryCache: new QueryCache({ onError: leaveIfSignedOut }),
  mutationCache: new MutationCache({
    onError: (error) => {
      if (isSignedOut(error)) setSessionEnded(true)
    },
  }),
  defaultOptions: {
    queries: {
      // A refused request would be refused again; a request that did not arrive may succeed.
      retry: (count, error) =>
        count < RETRIES_MAX &&
        error instanceof ApiError &&
        (error.httpStatus === 0 || error.httpStatus === 503),
      retryDelay: (count) => 400 * 2 ** count,
      networkMode: NETWORK_MODE,
      refetchOnReconnect: true,
    },
    mutations: { networkMode: NETWORK_MODE },
  },
})
const router = createPageRouter(queries)

keepFocus()

const mount = document.getElementById('root')
if (mount === null) throw new Error('index.html has no #root')
createRoot(mount).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)

function leaveIfSignedOut(error: Error, query: { readonly queryKey: readonly unknown[] }): void {
  // The routes ask who is signed in, and lead to the sign-in by themselves.
  if (query.queryKey[0] === 'me') return
  if (!isSignedOut(error)) return
  if (hasUnsaved()) {
    setSessionEnded(true)
    return
  }
  queries.removeQueries({ queryKey: ['me'] })
  void router.invalidate()
}

function isSignedOut(error: Error): boolean {
  return error instanceof ApiError && error.code === 'not_signed_in'
}
