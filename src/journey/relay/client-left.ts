import { Problem } from '../../vocabulary/problem.ts'

/** What stops a journey whose client has left. Nobody is there to be told; it is for the log. */
export function clientLeft(): Problem {
  return new Problem('request_timeout', { httpStatus: 499, cause: 'the client left' })
}
