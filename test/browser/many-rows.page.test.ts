import { expect } from 'vitest'
import { test } from './page-test.ts'
import { json } from './stand-in.ts'
import { at, HELIX, KEYS, listOf } from './stand-in-data.ts'
import { UPSTREAMS } from './stand-in-desk.ts'
import { MODEL_LIST } from './stand-in-models.ts'
import { INVITATIONS, MEMBERS } from './stand-in-operator.ts'
import { REQUESTS } from './stand-in-requests.ts'

/** Accounts and gateways with more rows than a screen or a page of a list has. */

const many = <Row>(count: number, row: (place: number) => Row): readonly Row[] =>
  Array.from({ length: count }, (_, place) => row(place))

const [MODEL] = MODEL_LIST.data
const MODELS = many(160, (place) => ({ ...MODEL, id: `acme/model-${place}`, name: `M ${place}` }))

test('160 models are drawn in part until all are asked for, and found at once', async ({
  page,
  server,
}) => {
  server.answer('/models', json({ data: MODELS }))
  await page.goto(`${server.address}/app/${at('models')}`)
  const rows = page.getByRole('table', { name: 'Models' }).locator('tbody tr')
  const all = page.getByRole('button', { name: 'Show all 160 models' })
  await all.waitFor()
  expect(await rows.count()).toBe(100)
  await page.getByRole('searchbox').fill('model-159')
  await expect.poll(() => rows.count()).toBe(1)
  await page.getByRole('searchbox').fill('')
  await all.click()
  await expect.poll(() => rows.count()).toBe(160)
  await page.goto(`${server.address}/app/${at('playground')}`)
  await page.locator('.pick').click()
  await page.getByText('100 more: type to find them.').waitFor()
})

test('members and upstreams are found by a field once they are many', async ({ page, server }) => {
  const data = many(60, (place) => ({
    ...MEMBERS[0],
    user_id: `user_${place}`,
    name: `Person ${place}`,
    email: `p${place}@helix.example`,
  }))
  server.answer('/members', json(listOf(data)))
  await page.goto(`${server.address}/app/${at('members')}`)
  const field = page.getByRole('searchbox', { name: 'Name or email' })
  await field.fill('p45@')
  const rows = page.getByRole('table', { name: 'Members' }).locator('tbody tr')
  await expect.poll(() => rows.count()).toBe(1)
  await field.fill('no such person')
  await page.getByText('No member matches “no such person”.').waitFor()
  await page.getByRole('button', { name: 'Show all members' }).click()
  await expect.poll(() => rows.count()).toBe(60)
  expect(await field.inputValue()).toBe('')

  const upstreams = many(40, (place) => ({ ...UPSTREAMS[1], name: `up-${place}`, requests: place }))
  const failing = { ...UPSTREAMS[0], name: 'failing', state: 'failing' }
  server.answer('/operator/upstreams', json(listOf([...upstreams, failing])))
  await page.goto(`${server.address}/app/operator/upstreams`)
  await page.getByRole('searchbox', { name: 'Name of an upstream' }).fill('up-39')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
  await page.goto(`${server.address}/app/operator`)
  const home = page.getByRole('table', { name: 'Upstreams' })
  await home.getByRole('row', { name: /failing/ }).waitFor()
  const names = await home.locator('tbody tr a').allTextContents()
  expect(names).toHaveLength(8)
  expect(names.slice(0, 2)).toEqual(['failing', 'up-39'])
})

test('invitations are found by a field once they are many, of accounts and of operators', async ({
  page,
  server,
}) => {
  const data = many(60, (place) => ({
    ...INVITATIONS[0],
    id: `link_${place}`,
    email: `p${place}@helix.example`,
  }))
  server.answer('/invitations', json(listOf(data)))
  server.answer('/operator/invitations', json(listOf(data)))
  for (const path of [at('members'), 'operator/operators']) {
    await page.goto(`${server.address}/app/${path}`)
    const rows = page.getByRole('table', { name: 'Open invitations' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(60)
    const field = page.getByRole('searchbox', { name: 'Email of an invited person' })
    await field.fill('p45@')
    await expect.poll(() => rows.count()).toBe(1)
    await field.fill('no such person')
    await page.getByText('No invitation matches “no such person”.').waitFor()
  }
})

test('keys beyond the newest page have their names in Activity, the palette and the Playground', async ({
  page,
  server,
}) => {
  const old = { ...KEYS[0], id: 'key_01kbh0c7x5qv3m9t2r8w6e9999', name: 'the oldest key' }
  // A person's own key can have the same name; only the one of the Playground has no text.
  const own = { ...old, id: 'key_01kbh0c7x5qv3m9t2r8w6e9998', name: 'Playground' }
  const playground = { ...own, id: 'key_01kbh0c7x5qv3m9t2r8w6e9997', prefix: '' }
  server.answer('/keys', {
    kind: 'by',
    of: (query) =>
      query.get('search') === null
        ? listOf(KEYS, 'next')
        : listOf([old, own, { ...playground, credit_limit: 5_000_000, spend: 0, held: 0 }]),
  })
  server.answer('/requests', json(listOf([{ ...REQUESTS[4], key_id: old.id }])))
  server.answer('/usage/report', {
    kind: 'by',
    of: (query) => ({
      object: 'usage_report',
      by: query.get('by'),
      data: [{ id: old.id, name: old.name, figures: {} }],
      totals: {},
    }),
  })
  await page.goto(`${server.address}/app/${at('activity')}`)
  await page.getByRole('cell', { name: 'the oldest key' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('the oldest')
  await page.getByRole('option', { name: 'the oldest key' }).waitFor()
  await page.goto(`${server.address}/app/${at('playground')}`)
  await page.getByText('$5.00 of $5.00 left').waitFor()
})

test('the list of keys continues below its first 50', async ({ page, server }) => {
  server.answer('/keys', json(listOf(KEYS, 'next')))
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByRole('button', { name: 'Older keys' }).click()
  await expect
    .poll(() => server.asked)
    .toContain(`GET accounts/${HELIX.id}/keys?limit=50&cursor=next`)
})

test('older rows are read also during a poll, which the button for them outlives with the focus', async ({
  ownPage: page,
  server,
}) => {
  const old = { ...KEYS[0], id: 'key_old', name: 'the oldest key' }
  server.answer('/keys', {
    kind: 'by',
    of: (query) => (query.has('cursor') ? listOf([old]) : listOf(KEYS, 'next')),
  })
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByRole('button', { name: 'Older keys' }).focus()
  const polled = Promise.withResolvers<void>()
  const pressed = Promise.withResolvers<void>()
  await page.route(/\/keys\?(?!.*cursor=)/, async (route) => {
    polled.resolve()
    await pressed.promise
    await route.continue()
  })
  await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
  await polled.promise
  await page.keyboard.press('Enter')
  pressed.resolve()
  await page.getByText('the oldest key').waitFor()
})
