import { expect } from 'vitest'
import { test } from './page-test.ts'
import { HELIX, KEYS } from './stand-in-data.ts'

/** The page as a screen reader has it, where axe has no rule. */

const at = (section: string) => `${HELIX.id}/${section}`

const TABLES = [
  at('overview'),
  at('activity'),
  at('usage'),
  at('usage?by=tag'),
  at('keys'),
  at('credit'),
  at('models'),
  at('members'),
  'profile',
  'operator',
  'operator/accounts',
  'operator/upstreams/openrouter',
  'operator/webhooks',
  'operator/audit-log',
]

test.for(TABLES)('each table has a name: %s', async (path, { page, server }) => {
  await page.goto(`${server.address}/app/${path}`)
  await page.getByRole('table').first().waitFor()
  const names = await page
    .getByRole('table')
    .evaluateAll((tables) => tables.map((table) => table.getAttribute('aria-label')))
  expect(names.filter((name) => name === null || name === '')).toEqual([])
})

test('a margin is read apart from its percentage, and the name of a tab from its count', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator`)
  await page.getByRole('cell', { name: '$10.63 13.0%', exact: true }).first().waitFor()
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}`)
  const tabs = page.getByRole('navigation', { name: HELIX.name })
  await tabs.getByRole('link', { name: `Keys ${KEYS.length}`, exact: true }).waitFor()
})

test('a field is named without its shortcut, and the button of a model with its model', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByRole('searchbox', { name: 'Name or prefix of a key', exact: true }).waitFor()
  await page.goto(`${server.address}/app/${at('playground?model=openai/gpt-6-mini')}`)
  await page.getByRole('button', { name: 'Model openai/gpt-6-mini', exact: true }).waitFor()
})

test('a question is read with its consequences, and a form field by field', async ({
  page,
  server,
}) => {
  const [key] = KEYS
  const open = async (item: string) => {
    await page.goto(`${server.address}/app/${at('keys')}`)
    await page.getByRole('button', { name: `Actions for ${key?.name}` }).click()
    await page.getByRole('button', { name: item, exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Cancel' }).waitFor()
    const id = await dialog.getAttribute('aria-describedby')
    return id === null ? null : page.evaluate((of) => document.getElementById(of)?.textContent, id)
  }
  expect(await open('Disable')).toMatch(/^From now on, requests with this key are refused/)
  expect(await open('Change')).toBe(null)
})
