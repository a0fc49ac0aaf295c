import { openStore } from '../open-store.ts'

/** A process that opens the store in its argument, says how that went, and closes it. */
try {
  const store = await openStore({ url: `sqlite:${process.argv[2] ?? ''}` })
  await store.close()
  process.stdout.write('opened\n')
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.name : 'not an error'}\n`)
}
