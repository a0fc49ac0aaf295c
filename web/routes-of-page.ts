import { FACTOR_CALLS } from '../src/http/page/factor-routes.ts'
import { PLAYGROUND_CALLS } from '../src/http/page/playground-routes.ts'
import { SESSION_CALLS } from '../src/http/page/session-routes.ts'
import { USER_CALLS } from '../src/http/page/user-routes.ts'
import type { Operation } from '../src/operations/operation.ts'
import { describedOperations } from '../src/operations/operations.ts'

/** Callers of the page: a browser calls what reads or sets its cookies, the others call operations. */
export type PageCaller = 'anyone' | 'browser' | 'member' | 'operator'

/** Methods and paths by the names of calls. Paths are from the root, with parameters in braces. */
export type PageRoutes = Readonly<
  Record<
    string,
    {
      readonly method: Operation['method']
      readonly paths: { readonly [As in PageCaller]?: string | undefined }
    }
  >
>

/** The routes that the page may call, for its build: in the browser there is no code of the server. */
export function routesOfPage(): PageRoutes {
  const operations = describedOperations().flatMap(({ name, method, paths }) => {
    const { anyone, member, operator } = paths
    const isPageRoute = (anyone ?? member ?? operator) !== undefined
    return isPageRoute ? [{ name, method, paths: { anyone, member, operator } }] : []
  })
  return Object.fromEntries(
    [...operations, ...SESSION_CALLS, ...FACTOR_CALLS, ...USER_CALLS, ...PLAYGROUND_CALLS].map(
      ({ name, method, paths }) => {
        return [name, { method, paths }]
      },
    ),
  )
}
