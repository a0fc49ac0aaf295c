/**
 * Returns the error of a call, which must be of this class. Throws any other error, or reports that it
 * did not fail.
 */
export async function failureOf<Failure extends Error>(
  kind: abstract new (...args: never[]) => Failure,
  call: PromiseLike<unknown>,
): Promise<Failure> {
  try {
    await call
  } catch (error) {
    if (error instanceof kind) return error
    throw error
  }
  throw new Error('the call did not fail')
}

/** Reads a stream to its end, and says how many events came. */
export async function countEvents(stream: AsyncIterable<unknown>): Promise<number> {
  let events = 0
  for await (const _ of stream) events += 1
  return events
}
