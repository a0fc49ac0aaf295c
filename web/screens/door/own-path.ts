/** Whether this is a path of this page: browsers read `//host` and `/\\host` as other hosts. */
export function isOwnPath(next: unknown): next is string {
  return typeof next === 'string' && /^\/(?![/\\])/.test(next)
}
