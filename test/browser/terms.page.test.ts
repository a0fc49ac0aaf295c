import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { json } from './stand-in.ts'
import { HELIX, KEYS } from './stand-in-data.ts'

/** The models, allowances and limits of keys and accounts, and the fee of accounts: their forms, and what these send. */

const KEYS_PATH = `${HELIX.id}/keys`
const ACCOUNT_PATH = `operator/accounts/${HELIX.id}`
const SETTINGS_PATH = `${ACCOUNT_PATH}/settings`
const EVALS = KEYS.find(({ name }) => name === 'nightly evals')

const unfold = (page: Page) => page.locator('summary').click()

async function changeEvals(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Actions for nightly evals' }).click()
  await page.getByRole('button', { name: 'Change' }).click()
}

const refusal = (param: string) => ({
  ...json({ error: { message: 'It must be an id.', code: 'invalid_parameter', param } }),
  httpStatus: 400,
})

const SCREENS: readonly Screen[] = [
  { name: 'key-new-terms', path: `${KEYS_PATH}?create=true`, act: unfold, text: 'Denied models' },
  { name: 'key-change-terms', path: KEYS_PATH, act: changeEvals, text: 'Denied models' },
  {
    name: 'key-terms-refused',
    path: `${KEYS_PATH}?create=true`,
    before: (server) => server.answer('POST /keys', refusal('models.allow.1')),
    async act(page) {
      await page.getByLabel('Name', { exact: true }).fill('staging')
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    },
    text: 'It must be an id.',
  },
  {
    name: 'key-allowance',
    path: KEYS_PATH,
    text: 'Allowance: $1.42 of $5.00 today, resets 22 Nov, 23:00',
  },
  {
    name: 'credit-allowance',
    path: `${HELIX.id}/credit`,
    text: 'Allowance: $164.12 of $900.00 this month, $2.41 held, resets 1 Dec, 00:00',
  },
  {
    name: 'op-account-allowance',
    path: ACCOUNT_PATH,
    text: 'Allowance: $164.12 of $900.00 this month, $2.41 held, resets 1 Dec, 00:00',
  },
  { name: 'key-metadata', path: KEYS_PATH, text: 'team: search, ticket: OPS-1182' },
  { name: 'op-account-notes', path: ACCOUNT_PATH, text: 'plan: team, region: eu' },
  {
    name: 'op-account-external-id',
    path: ACCOUNT_PATH,
    act: (page) => page.getByText('Below $20.00').waitFor(),
    text: 'crm-20418',
  },
  {
    name: 'key-limit-wrong',
    path: KEYS_PATH,
    async act(page) {
      await changeEvals(page)
      await page.getByLabel('Requests in flight').fill('0')
    },
    text: 'Enter a whole number from 1, or leave it empty.',
  },
  {
    name: 'key-limit-refused',
    path: `${KEYS_PATH}?create=true`,
    before: (server) => server.answer('POST /keys', refusal('limits.requests_per_minute')),
    async act(page) {
      await page.getByLabel('Name', { exact: true }).fill('staging')
      await unfold(page)
      await page.getByLabel('Requests a minute').fill('1000')
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    },
    text: 'It must be an id.',
  },
  {
    name: 'op-account-terms',
    path: SETTINGS_PATH,
    text: 'The most that all keys of the account together can spend',
  },
  {
    name: 'op-account-fee-wrong',
    path: SETTINGS_PATH,
    act: (page) => page.getByLabel('Platform fee in percent').fill('100.5'),
    text: 'Enter a percentage from 0 to 100',
  },
]

testScreens(SCREENS)

test('the amount of an allowance says what it limits, and its time zone when periods begin', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${KEYS_PATH}?create=true`)
  await unfold(page)
  const described = async (name: string) =>
    page.getByLabel(name, { exact: true }).evaluate((field) => {
      const id = field.getAttribute('aria-describedby') ?? ''
      return document.getElementById(id)?.textContent
    })
  expect(await described('Allowance')).toContain('can spend in each period')
  expect(await described('Time zone of the allowance')).toContain('begin at midnight')
})

test('a new key is sent with all of its terms, and a changed key only with the changed ones', async ({
  page,
  server,
}) => {
  server.answer('POST /keys', json({ ...EVALS, key: 'sk-tollgate-new' }))
  server.answer(`/keys/${EVALS?.id}`, json(EVALS))
  await page.goto(`${server.address}/app/${KEYS_PATH}?create=true`)
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('staging')
  await unfold(page)
  await dialog.getByLabel('Allowed models').fill('acme/*, qwen/qwen4-coder')
  await dialog.getByLabel('Allowance', { exact: true }).fill('20')
  await dialog.getByLabel('Resets every').selectOption('day')
  await dialog.getByLabel('Requests a minute').fill('60')
  const created = page.waitForRequest((request) => request.method() === 'POST')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  expect((await created).postDataJSON()).toEqual({
    name: 'staging',
    credit_limit: null,
    expires_at: null,
    models: { allow: ['acme/*', 'qwen/qwen4-coder'], deny: [] },
    allowance: { amount: 20_000_000, period: 'day', time_zone: 'UTC' },
    limits: { requests_per_minute: 60, in_flight: null, tokens_per_minute: null },
  })
  await dialog.waitFor({ state: 'detached' })
  await changeEvals(page)
  await dialog.getByLabel('Allowed models').fill('')
  expect(await dialog.getByLabel('Allowed models').isVisible()).toBe(true)
  await dialog.getByLabel('Requests in flight').fill('1')
  const changed = page.waitForRequest((request) => request.method() === 'PATCH')
  await dialog.getByRole('button', { name: 'Save' }).click()
  expect((await changed).postDataJSON()).toEqual({ models: null, limits: { in_flight: 1 } })
})

test('terms that are not set are folded, and shown after a click with their defaults', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${KEYS_PATH}?create=true`)
  const models = page.getByRole('dialog').getByLabel('Allowed models')
  await models.waitFor({ state: 'attached' })
  expect(await models.isVisible()).toBe(false)
  await unfold(page)
  expect(await models.isVisible()).toBe(true)
  const dialog = page.getByRole('dialog')
  await dialog.getByPlaceholder('300 (default)').waitFor()
  await dialog.getByPlaceholder('8 (default)').waitFor()
})

test('the typed fee of an account is sent in hundredths of a percent', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${SETTINGS_PATH}`)
  await page.getByLabel('Platform fee in percent').fill('2.5')
  const changed = page.waitForRequest((request) => request.method() === 'PATCH')
  await page.getByRole('button', { name: 'Save fee and alert' }).click()
  expect((await changed).postDataJSON()).toEqual({ fee_basis_points: 250 })
})

test('a key that allows a model which is not offered is told so below the field, and its lines use a model that it can use', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${KEYS_PATH}?create=true`)
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('staging')
  await unfold(page)
  const allowed = dialog.getByLabel('Allowed models')
  await allowed.fill('Openai/*, openai/gpt-66')
  await dialog.getByText('No model offered now matches openai/gpt-66.').waitFor()
  await allowed.fill('OpenAI/gpt-6-mini')
  await dialog.getByText('IDs, or author/* for all models').waitFor()
  const models = { allow: ['OpenAI/gpt-6-mini'], deny: [] }
  server.answer('POST /keys', json({ ...KEYS[0], models, key: 'sk-tollgate-new' }))
  await dialog.getByRole('button', { name: 'Create key' }).click()
  const lines = page.getByRole('region', { name: 'Use it' })
  await lines.getByText('"openai/gpt-6-mini"').waitFor()
})
