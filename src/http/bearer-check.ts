import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Tells whether an `Authorization` header presents a token, in a time that tells nothing of the token,
 * not even its length.
 */
export function bearerCheck(bearerToken: string): (authorization: string | undefined) => boolean {
  const expected = digest(bearerToken)
  return (authorization = '') => {
    const presented = /^bearer +(\S+) *$/i.exec(authorization)?.[1]
    return presented !== undefined && timingSafeEqual(digest(presented), expected)
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
