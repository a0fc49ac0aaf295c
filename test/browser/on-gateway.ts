import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type ServeProcess, serve } from '../tollgate-process.ts'
import { test as inBrowser } from './page-test.ts'

/** The password of each person. */
export const PASSWORD = 'twelve or more characters'

interface PageGateway extends ServeProcess {
  readonly folder: string
}

/** Starts a real gateway with more settings. By position: the settings, and what takes its end. */
export async function servePage(
  settings: Readonly<Record<string, string>>,
  onCleanup: (end: () => Promise<void>) => void,
): Promise<PageGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-page-'))
  const gateway = await serve({ folder, env: { PORT: '0', ...settings } })
  onCleanup(async () => {
    await gateway.stop('SIGTERM')
    rmSync(folder, { recursive: true, force: true })
  })
  return { ...gateway, folder }
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

/** The link that the start printed, at the address that tests open pages by: the browser has a session for each host name. */
export function setupLink(gateway: ServeProcess): string {
  const [, path] = /http:\/\/localhost:\d+(\/app\/setup#\S+)/.exec(gateway.greeting) ?? []
  if (path === undefined) throw new Error(`no setup link was printed: ${gateway.greeting}`)
  return `${gateway.address}${path}`
}

/** Makes the first operator, Ada, who owns the first account, and lands where the page leads her. */
export async function becomeOperator(page: Page, gateway: ServeProcess): Promise<void> {
  await page.goto(setupLink(gateway))
  await page.getByLabel('Name').fill('Ada Lovelace')
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create the operator' }).click()
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
}

/** Makes the first operator, and opens the first account. */
export async function setUp(page: Page, gateway: ServeProcess): Promise<void> {
  await becomeOperator(page, gateway)
  await page.goto(`${gateway.address}/app/`)
  await page.getByText('No requests yet').waitFor()
}
