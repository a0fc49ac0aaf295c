/** Ends a switch over a closed union: adding a member does not compile until every switch decides. */
export function assertNever(value: never): never {
  throw new TypeError(`not a member of the union: ${JSON.stringify(value)}`)
}
