import type { QueryClient } from '@tanstack/react-query'
import {
  type AnyRoute,
  createRootRouteWithContext,
  createRoute,
  redirect,
} from '@tanstack/react-router'
import type { Me } from './api/answers.ts'
import { ApiError } from './api/client.ts'
import { meQuery, startQuery } from './api/queries.ts'
import { Brand } from './parts/icon.tsx'
import { useServiceName } from './parts/service-name.tsx'
import { Failed } from './parts/states.tsx'
import { useTitle } from './parts/use-title.ts'
import { lazyScreen } from './shell/lazy-screen.tsx'
import { Page } from './shell/page.tsx'
import { ScreenFailed, ScreenNotFound } from './shell/screen-states.tsx'
import { Shell } from './shell/shell.tsx'

/** The root of all addresses. */
export const root = createRootRouteWithContext<{ readonly queries: QueryClient }>()({
  component: Page,
  errorComponent: ({ error }) => <PageFailed error={asError(error)} />,
  notFoundComponent: NotFound,
})

/** The common parts of pages behind the sign-in. */
export const BEHIND_SIGN_IN = {
  getParentRoute: () => root,
  component: Shell,
  notFoundComponent: ScreenNotFound,
} as const

/** The module of a screen, by the name of its export. */
type ScreenModule = Readonly<Record<string, () => Promise<Record<string, unknown>>>>

/** A screen, and the error that is shown if it cannot be loaded. */
export function screen(module: ScreenModule) {
  const [named] = Object.entries(module)
  if (named === undefined) throw new TypeError('a screen is the export of a module')
  const [name, load] = named
  return {
    component: lazyScreen(load, name),
    errorComponent: ({ error }: { readonly error: unknown }) => (
      <ScreenFailed error={asError(error)} />
    ),
  }
}

/** By position: the screens' parent, and of a screen its path, the reader of its search, and its module. */
export function screensOf<Parent extends AnyRoute>(parent: Parent) {
  return function route<const Path extends string, Search>(
    path: Path,
    validateSearch: (search: Record<string, unknown>) => Search,
    module: ScreenModule,
  ) {
    return createRoute({ getParentRoute: () => parent, path, validateSearch, ...screen(module) })
  }
}

/** The signed-in user. Without one, leads to the sign-in, and back afterwards. */
export async function signedIn(queries: QueryClient, next: string) {
  const search = next === '/' ? {} : { next }
  const known = queries.getQueryData(meQuery.queryKey)
  // Asked before the user is: the refusal of a user who is not signed in is an error in the browser's console.
  if (known === undefined) {
    const start = await queries.fetchQuery({ ...startQuery, staleTime: 0 })
    if (!start.signed_in) throw redirect({ to: '/sign-in', search })
  }
  const me = await meOrSignIn(queries, search)
  if (me.user.second_factor === 'required') throw redirect({ to: '/set-up-second-factor', search })
  return me
}

/** The user of this session; without one, leads to the sign-in with this search. */
export async function meOrSignIn(
  queries: QueryClient,
  search: { readonly next?: string },
): Promise<Me> {
  try {
    return await queries.ensureQueryData(meQuery)
  } catch (error) {
    const isSignedOut = error instanceof ApiError && error.httpStatus === 401
    throw isSignedOut ? redirect({ to: '/sign-in', search }) : error
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

function NotFound() {
  return <PageFailed error={new Error('Check the address, or choose a section.')} />
}

/** A page that could not be shown. */
function PageFailed({ error }: { error: Error }) {
  const service = useServiceName()
  useTitle('The page could not be shown')
  return (
    <div className="door">
      <main>
        <a className="brand" href="/app/">
          <Brand />
        </a>
        <h1 className="vh">{service}</h1>
        <div className="card">
          <Failed
            what="The page could not be shown."
            query={{ error, refetch: () => location.reload() }}
          />
        </div>
      </main>
    </div>
  )
}
