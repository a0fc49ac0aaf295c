import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Page } from 'playwright-core'
import { startSimulator } from '../../simulator/simulator.ts'
import { readConfig } from '../../src/app/config.ts'
import { oneUpstream } from '../../src/app/configured-upstreams.ts'
import { startGateway } from '../../src/app/gateway.ts'
import { makeSetupLink } from '../../src/app/open-page.ts'
import { makeFirstAccount } from '../../src/app/serve.ts'
import { makeScryptPasswords } from '../../src/people/passwords.ts'
import { writeMadeStore } from '../../src/store/testing/made-store.ts'
import { test as inBrowser } from './page-test.ts'

/** The password of each person. */
export const PASSWORD = 'twelve or more characters'

// A sixteenth of the work.
const QUICK_PASSWORDS = makeScryptPasswords({ N: 1_024, r: 16 })

/** A real gateway before the simulator. */
export interface PageGateway {
  readonly address: string
  /** Commands that run there have its store. */
  readonly folder: string
  /** The link that makes the first operator. */
  readonly setupLink: string
}

/**
 * Starts a gateway with more settings, in this process: one of its own costs more than all else that most tests do.
 * By position: the settings, and what takes its end.
 */
export async function servePage(
  settings: Readonly<Record<string, string>>,
  onCleanup: (end: () => Promise<void>) => void,
): Promise<PageGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-page-'))
  mkdirSync(join(folder, 'data'))
  const file = join(folder, 'data', 'simulator.db')
  await writeMadeStore(file)
  const config = readConfig({ PORT: '0', DATABASE_URL: `sqlite:${file}`, ...settings })
  const simulator = await startSimulator({ record: false, control: false })
  const { baseUrl } = simulator
  const configured = oneUpstream(config, { mode: 'simulator', baseUrl, apiKey: 'simulator' })
  const log = pino({ level: 'silent' })
  const server = await startGateway({ config, configured, log, passwords: QUICK_PASSWORDS })
  onCleanup(async () => {
    await server.close()
    await simulator.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await makeFirstAccount(server, config.TOLLGATE_KEY_TAG)
  const setupLink = await makeSetupLink({ config, server })
  if (setupLink === null) throw new Error('a new store has users')
  return { address: server.address, folder, setupLink }
}

/** A test in a browser, on a real gateway of its own. */
export const test = inBrowser
  .extend(
    'gateway',
    // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs, here nothing
    async ({}, { onCleanup }): Promise<PageGateway> => servePage({}, onCleanup),
  )
  /** The page of the first operator, Ada, at the first account, which she owns. */
  .extend('owner', async ({ newPage, gateway }): Promise<Page> => {
    const page = await newPage()
    await setUp(page, gateway)
    return page
  })

/** The setup link at the address that tests open pages by: the browser has a session for each host name. */
export function setupLink(gateway: Pick<PageGateway, 'address' | 'setupLink'>): string {
  const { pathname, hash } = new URL(gateway.setupLink)
  return `${gateway.address}${pathname}${hash}`
}

/** Sends the form of a setup link as Ada, the first operator, who owns the first account. */
export async function sendSetup(page: Page, link: string): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace')
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create the operator' }).click()
}

/** Signs Ada in by the form that the page shows. */
export async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Makes the first operator, and lands where the page leads her. */
export async function becomeOperator(
  page: Page,
  gateway: Pick<PageGateway, 'address' | 'setupLink'>,
): Promise<void> {
  await sendSetup(page, setupLink(gateway))
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
}

/** Makes the first operator, and opens the first account. */
export async function setUp(
  page: Page,
  gateway: Pick<PageGateway, 'address' | 'setupLink'>,
): Promise<void> {
  await becomeOperator(page, gateway)
  await page.goto(`${gateway.address}/app/`)
  await page.getByText('No requests yet').waitFor()
}
