import type { Operation } from '../src/operations/operation.ts'
import { describedOperations } from '../src/operations/operations.ts'

/** Callers that the page has operations of. */
export type PageCaller = 'anyone' | 'member' | 'operator'

/** Methods and paths by the names of operations. Paths are from the root, with parameters in braces. */
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
  return Object.fromEntries(
    describedOperations().flatMap(({ name, method, paths }) => {
      const { anyone, member, operator } = paths
      const isOfPage = (anyone ?? member ?? operator) !== undefined
      return isOfPage ? [[name, { method, paths: { anyone, member, operator } }]] : []
    }),
  )
}
