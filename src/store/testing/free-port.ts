import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below the ports that systems give to connections, and to servers that name none.
const PORT_MIN = 20_000
const PORT_MAX = 32_000

/**
 * A free port for a program that needs its number. The system gives it to nothing else before the program takes it, nor
 * while the program is stopped.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORT_MIN, PORT_MAX)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const probe = createServer()
  probe.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') resolve(false)
    else reject(error)
  })
  probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  return promise
}
