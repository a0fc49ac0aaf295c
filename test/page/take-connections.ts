import type { World } from '../world.ts'

/** As many as a store on PostgreSQL has for what the page reads. */
const CONNECTIONS_OF_POSTGRES = 3

/**
 * Takes every connection that the page reads lists and charts on until the returned function is called, which resolves
 * once they are given back. It may be called again.
 */
export async function takeConnections({ gateway: { store } }: World): Promise<() => Promise<void>> {
  const freed = Promise.withResolvers<void>()
  const taken: Promise<void>[] = []
  const count = store.location.kind === 'sqlite' ? 1 : CONNECTIONS_OF_POSTGRES
  for (let number = 0; number < count; number++) {
    const reached = Promise.withResolvers<void>()
    const ended = store
      .pages({ owner: `other ${number}` })
      .connection()
      .execute(async () => {
        reached.resolve()
        await freed.promise
      })
    taken.push(ended)
    await reached.promise
  }
  return async () => {
    freed.resolve()
    await Promise.all(taken)
  }
}
