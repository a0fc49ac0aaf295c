import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../../src/app/config.ts'
import { configuredUpstreams } from '../../../src/app/configured-upstreams.ts'
import { startWorld, type World } from '../../world.ts'
import { type ScriptedVendor, startScriptedVendor } from '../scripted-vendor.ts'

/** A gateway whose only upstream is a scripted vendor, with an account that has a key. */
export interface VendorWorld {
  readonly vendor: ScriptedVendor
  readonly world: World
  readonly apiKey: string
  close(): Promise<void>
}

/** Starts one with so much credit. `fileOf` writes the upstreams file for the vendor's address. */
export async function startVendorWorld(input: {
  readonly modelIds: readonly string[]
  readonly fileOf: (baseUrl: string) => string
  readonly creditMicros: number
}): Promise<VendorWorld> {
  const { modelIds, fileOf, creditMicros } = input
  const vendor = await startScriptedVendor(modelIds)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bills-'))
  const file = join(folder, 'upstreams.yaml')
  writeFileSync(file, fileOf(vendor.baseUrl))
  const settings = { TOLLGATE_UPSTREAMS: file }
  const configured = await configuredUpstreams(readConfig(settings), { VENDOR_KEY: 'key' })
  if (configured === null) throw new Error('the file has no upstreams')
  const world = await startWorld({ settings, configured: () => configured })
  const { apiKey } = await world.account({ creditMicros })
  return {
    vendor,
    world,
    apiKey,
    async close() {
      await world.close()
      await vendor.close()
      rmSync(folder, { recursive: true })
    },
  }
}
