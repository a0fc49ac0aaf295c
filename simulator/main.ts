import { startSimulator } from './simulator.ts'
import { VENDORS, type VendorName } from './vendors.ts'

/*
 * The simulator as a process of its own: `npm run simulator -- [port]`, or with the port in
 * SIMULATOR_PORT. SIMULATOR_HOST sets the address, SIMULATOR_RECORD=0 keeps no requests,
 * SIMULATOR_EVENTS and SIMULATOR_INTERVAL_MS pace `sim/paced`, SIMULATOR_VENDOR names a vendor to play. Prints its base URL when it listens.
 */
const env = process.env
const vendor = vendorNamed(env['SIMULATOR_VENDOR'])
const simulator = await startSimulator({
  host: env['SIMULATOR_HOST'] ?? '127.0.0.1',
  port: Number(process.argv[2] ?? env['SIMULATOR_PORT'] ?? 0),
  record: env['SIMULATOR_RECORD'] !== '0',
  ...(vendor === null ? {} : { vendor }),
  pace: {
    events: Number(env['SIMULATOR_EVENTS'] ?? 20),
    intervalMs: Number(env['SIMULATOR_INTERVAL_MS'] ?? 50),
  },
})
console.log(simulator.baseUrl)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void simulator.close()
  })
}

/** Null: OpenRouter. Throws TypeError for a vendor that it does not play. */
function vendorNamed(name: string | undefined): VendorName | null {
  if (name === undefined || name === '') return null
  const vendor = Object.keys(VENDORS).find((each): each is VendorName => each === name)
  if (vendor !== undefined) return vendor
  throw new TypeError(`SIMULATOR_VENDOR must be one of ${Object.keys(VENDORS).join(', ')}`)
}
