/** The paths of an operation of admins and operators. By position: the path below the root of each. */
export function staffPaths<const Tail extends string>(tail: Tail) {
  return { admin: `/v1/admin/${tail}`, operator: `/app/api/operator/${tail}` } as const
}

/** The paths of an operation on things of accounts, such as `keys/{key_id}`, which members reach below their account. */
export function sharedPaths<const Tail extends string>(tail: Tail) {
  return { ...staffPaths(tail), member: `/app/api/accounts/{account_id}/${tail}` } as const
}

/** The paths of an operation on one account, for its members too. By position: the rest of the path, which begins with `/`. */
export function accountPaths<const Tail extends string>(tail: Tail) {
  const path = `accounts/{account_id}${tail}` as const
  return { ...staffPaths(path), member: `/app/api/${path}` } as const
}
