import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { serve } from '../tollgate-process.ts'
import { copyBy, expectGoodPage, sendByKeys, takePicture } from './chromium.ts'
import { becomeOperator, test as onGateway, PASSWORD, setUp, setupLink } from './on-gateway.ts'

/** A person's first minutes, on a real gateway: from the link of the first start on. */

const run = promisify(execFile)

/** With the program as it is started by hand, in its own process. */
const test = onGateway.extend(
  'program',
  // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs, here nothing
  async ({}, { onCleanup }) => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-page-'))
    const gateway = await serve({ folder })
    onCleanup(async () => {
      await gateway.stop('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    })
    const [printed] = /http:\/\/localhost:\d+\/app\/setup#\S+/.exec(gateway.greeting) ?? []
    if (printed === undefined) throw new Error(`no setup link was printed: ${gateway.greeting}`)
    return { address: gateway.address, setupLink: printed }
  },
)

test('the printed link leads to a key, a completion with it, and its row in Activity', async ({
  newPage,
  program,
}) => {
  const page = await newPage()
  const bodies: string[] = []
  page.on('response', (response) => {
    if (!response.url().includes('/app/api/')) return
    response.text().then(
      (text) => bodies.push(text),
      () => undefined,
    )
  })
  await setUp(page, program)
  expect(page.url()).not.toContain('#')
  await expectGoodPage(page)

  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByLabel('Name', { exact: true }).fill('laptop')
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  const key = await page.getByLabel('The new key').inputValue()
  expect(key).toMatch(/^sk-/)
  await expectGoodPage(page)
  const lines = (await page.locator('.snip pre').textContent()) ?? ''
  const { stdout } = await run('sh', ['-c', lines])
  expect(JSON.parse(stdout).object).toBe('chat.completion')

  // Otherwise the page asks before the key is left.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await copyBy(page, 'Copy the key')
  await page.getByRole('link', { name: 'Activity' }).click()
  await page.getByText('Final', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'sim/text' }).click()
  await page.locator('dt', { hasText: /^Charge$/ }).waitFor()
  await expectGoodPage(page)

  const stored = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))
  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByText('laptop').waitFor()
  expect(bodies.filter((body) => body.includes(key))).toHaveLength(1)
  expect(stored + (await page.content()) + page.url()).not.toContain(key)
})

test('the first operator begins at the screens of operators, next to the first account', async ({
  newPage,
  gateway,
}) => {
  const page = await newPage()
  await becomeOperator(page, gateway)
  await page.waitForURL(`${gateway.address}/app/operator`)
  await expectGoodPage(page)
  await page.locator('button.acct').click()
  await page.getByRole('link', { name: 'Operator: all accounts' }).waitFor()
  await page.getByRole('link', { name: 'first', exact: true }).click()
  await page.getByText('No requests yet').waitFor()
})

test('the Playground streams an answer, which is charged on its own key and listed in Activity', async ({
  owner: page,
}) => {
  await page.getByRole('link', { name: 'Playground' }).click()
  await sendByKeys(page, 'Say hello to the heron.')
  await page.getByText(/^Charged \$0\.0/).waitFor()
  // The key that the first request has made.
  await page.getByRole('link', { name: '“Playground”: $5.00 of $5.00 left' }).waitFor()
  expect(await page.getByText('heron').count()).toBe(2)
  await page.getByRole('link', { name: 'Open in Activity' }).click()
  await page.locator('dt', { hasText: /^Charge$/ }).waitFor()
  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByText('Playground', { exact: true }).nth(1).waitFor()
  await page.getByText('of $5.00').waitFor()
  expect((await page.content()) + page.url()).not.toContain('heron')
})

test('a newcomer buys play credit, sees it arrive, and spends it', async ({ newPage, gateway }) => {
  const page = await newPage()
  const begunAtMs = Date.now()
  await setUp(page, gateway)
  await page.getByRole('link', { name: 'Credit', exact: true }).click()
  await page.getByRole('button', { name: 'Add credit' }).click()
  await page.getByRole('button', { name: '$50' }).click()
  await page.getByText('You pay $50.00').waitFor()
  await page.getByRole('button', { name: 'Continue to payment' }).click()
  await page.getByRole('heading', { name: 'Pay $50.00' }).waitFor()
  await takePicture(page, 'play-checkout')
  await expectGoodPage(page)
  await page.getByRole('button', { name: 'Pay $50.00' }).click()
  await page.getByRole('heading', { name: 'Paid' }).waitFor()
  await takePicture(page, 'play-paid')
  await expectGoodPage(page)
  await page.getByRole('link', { name: 'Back to tollgate' }).click()
  await page.getByText('$50.00 was added').waitFor()
  // The first account begins with $10.
  await page.getByText('$60.00', { exact: true }).first().waitFor()

  await page.getByRole('link', { name: 'Playground' }).click()
  await sendByKeys(page, 'Say hello.')
  await page.getByText(/^Charged \$0\.0/).waitFor()
  console.log(`from the link to bought and spent: ${Date.now() - begunAtMs} ms`)
  await page.getByRole('link', { name: 'Open in Activity' }).click()
  await page.locator('dt', { hasText: /^Charge$/ }).waitFor()
  await page.getByRole('link', { name: 'Credit', exact: true }).click()
  await page.getByText('1 request', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Top-ups' }).click()
  await page.getByRole('link', { name: 'Receipt' }).first().click()
  await page.getByRole('dialog').getByText('$50.00').first().waitFor()
})

test('a key is changed, disabled and deleted by its name', async ({ newPage, gateway }) => {
  const page = await newPage({ width: 'phone', theme: 'dark' })
  await setUp(page, gateway)
  const actions = page.getByRole('button', { name: /^Actions for / })
  const act = async (name: string) => {
    await actions.first().click()
    await page.getByRole('button', { name, exact: true }).click()
  }
  await page.getByRole('link', { name: 'Keys' }).click()
  await act('Change')
  await page.getByLabel('Name', { exact: true }).fill('desktop')
  await page.getByLabel('Credit limit').fill('0.50')
  await page.getByRole('button', { name: '30 days' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('of $0.50').waitFor()
  await act('Disable')
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
  await page.getByText('Disabled', { exact: true }).waitFor()
  await act('Delete')
  const remove = page.getByRole('button', { name: 'Delete key' })
  expect(await remove.isDisabled()).toBe(true)
  await page.getByLabel('Type desktop to delete it').fill('desktop')
  await remove.click()
  await page.getByText('No keys.').waitFor()
})

test('signing out and in again leads back to the same page', async ({ newPage, gateway }) => {
  const page = await newPage({ theme: 'dark' })
  await setUp(page, gateway)
  await page.getByRole('link', { name: 'Keys' }).click()
  await page.waitForURL(/\/keys$/)
  const keys = page.url()
  await page.getByRole('button', { name: /Ada Lovelace/ }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(/\/sign-in$/)
  await page.goto(keys)
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill('not the password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await expectGoodPage(page)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(keys)
  await page.goto(setupLink(gateway))
  await page.getByText('tollgate is already set up.').waitFor()
  expect(await page.getByLabel('Password').count()).toBe(0)
})

test('a request that is not found shows the ID that was searched for, and no other', async ({
  owner: page,
}) => {
  await page.getByRole('link', { name: 'Activity' }).click()
  const wanted = 'req_01kbh0c7x5qv3m9t2r8w6e7m2q'
  await page.getByLabel('Request ID').fill(wanted)
  await page.keyboard.press('Enter')
  const drawer = page.getByRole('complementary', { name: 'Request' })
  await drawer.getByText('The request could not be loaded.').waitFor()
  const shown = (await drawer.textContent()) ?? ''
  expect(shown.match(/req_[0-9a-z]{26}/g)?.filter((id) => id !== wanted)).toEqual([])
})
