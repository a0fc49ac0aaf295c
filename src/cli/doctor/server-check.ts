import { z } from 'zod'
import type { Finding } from './finding.ts'

const TIMEOUT_MS = 5_000

const readinessShape = z.object({
  object: z.literal('readiness'),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), message: z.string().nullable() })),
})

/** Asks the running server whether it can take requests. By position: the address of the server. */
export async function checkServer(url: string): Promise<readonly Finding[]> {
  const found = await readinessOf(url)
  if (typeof found === 'string') return [{ check: 'server', state: 'warning', message: found }]
  const findings = found.checks.flatMap(({ name, ok, message }): Finding[] =>
    message === null
      ? []
      : [{ check: `server ${name}`, state: ok ? 'warning' : 'failed', message }],
  )
  if (findings.some(({ state }) => state === 'failed')) return findings
  return [{ check: 'server', state: 'ok', message: `${url} can take requests` }, ...findings]
}

/** The readiness of the server, or why it is not known. */
async function readinessOf(url: string): Promise<z.output<typeof readinessShape> | string> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const { success, data } = readinessShape.safeParse(await answer.json())
    return success
      ? data
      : `another program answers at ${url}: set HOST and PORT as the server has them`
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    return isLate
      ? `the server at ${url} did not answer within ${TIMEOUT_MS / 1_000} s: its process may hang; see its log`
      : `no server answers at ${url}: start it with \`tollgate serve\`, or set HOST and PORT as the server has them`
  }
}
