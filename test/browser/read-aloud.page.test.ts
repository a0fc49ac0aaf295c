import { expect } from 'vitest'
import { expectGoodPage } from './chromium.ts'
import { test } from './page-test.ts'
import { HELIX, KEYS } from './stand-in-data.ts'

/** The page as a screen reader has it, where axe has no rule; and faults that axe is asked about only where a quick look sees them. */

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

/** By position: axe's rule, what breaks it, and how a good page is made to break it. */
const FAULTS = [
  ['color-contrast', 'a faint text', (text) => text.style.setProperty('color', '#999')],
  ['color-contrast', 'a faded text', (text) => text.style.setProperty('opacity', '0.4')],
  [
    'color-contrast',
    'a text on a colour of what holds it',
    (text) => text.parentElement?.style.setProperty('background', '#777'),
  ],
  [
    'color-contrast',
    'a text before a part that does not hold it',
    (text) => {
      const behind = document.createElement('div')
      Object.assign(behind.style, { position: 'absolute', inset: '0', background: '#777' })
      text.parentElement?.prepend(behind)
      Object.assign(text.style, { position: 'relative', zIndex: '1' })
    },
  ],
  [
    'link-in-text-block',
    'a link that differs from the text around it by its colour alone',
    (text) => {
      const link = document.createElement('a')
      Object.assign(link, { href: '#there', textContent: 'there' })
      Object.assign(link.style, { color: '#545a66', font: 'inherit', textDecoration: 'none' })
      const part = document.createElement('span')
      part.append(link)
      text.append(' Look ', part, ' or here.')
    },
  ],
  [
    'target-size',
    'small targets side by side',
    (text) => {
      for (const name of ['one', 'two']) {
        const target = document.createElement('button')
        target.textContent = name
        Object.assign(target.style, { height: '12px', width: '12px', padding: '0' })
        text.after(target)
      }
    },
  ],
] as const satisfies readonly (readonly [string, string, (text: HTMLElement) => void])[]

test.for(FAULTS)('%s is found in %s', async ([rule, , spoil], { page, server }) => {
  await page.goto(`${server.address}/app/forgot`)
  const text = page.getByText('You get an email with a link.')
  await text.waitFor()
  await expectGoodPage(page)
  await text.evaluate(spoil)
  const complaint = expectGoodPage(page).catch(({ actual }) => String(actual))
  expect(await complaint).toContain(rule)
})
