import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { readAdapter } from '../adapter/adapter.ts'
import { type Outcome, type RunInput, runChecks } from '../run.ts'

const TOY = join(import.meta.dirname, 'toy.yaml')

/** Runs a check or a group on the toy with a planted fault, or `none`. */
export async function foundBy(
  only: string,
  fault: string,
  more: Partial<RunInput> = {},
): Promise<readonly Outcome[]> {
  // All that the toy asks of its store is whether it is there.
  const store = createServer((socket) => socket.on('error', () => {}))
  await once(store.listen(0, '127.0.0.1'), 'listening')
  const { port } = store.address() as AddressInfo
  const { checks } = await runChecks({
    adapter: { ...readAdapter(TOY, 'default'), set: { fault } },
    variant: 'default',
    suite: 'test',
    command: 'test',
    only: [only],
    rounds: 1,
    quick: true,
    // Only what is kept for ever uses all of it up.
    patienceMs: fault === 'none' ? 10_000 : 1_500,
    busy: true,
    binary: `${process.execPath} ${join(import.meta.dirname, 'toy.ts')}`,
    postgres: undefined,
    redis: `redis://127.0.0.1:${port}`,
    tell: () => {},
    ...more,
  }).finally(() => store.close())
  return checks
}
