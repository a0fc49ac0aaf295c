import { expect } from 'vitest'
import { test } from './page-test.ts'
import { DAY_MS, HELIX, NOW } from './stand-in-data.ts'

/** What happens elsewhere while the page is open: a sign-out, an upgrade, another operator's change, a model that leaves. */

const at = (section: string) => `${HELIX.id}/${section}`

test('a browser whose clock is a day late asks for the newest requests, and says how old they are', async ({
  ownPage: page,
  server,
}) => {
  await page.clock.setFixedTime(NOW.getTime() - DAY_MS)
  await page.route('**/app/api/**', async (route) => {
    const response = await route.fetch()
    const headers = { ...response.headers(), date: NOW.toUTCString() }
    await route.fulfill({ response, headers })
  })
  await page.goto(`${server.address}/app/${at('activity?range=24h')}`)
  await page.getByText('Unresolved').first().waitFor()
  const since = server.asked.flatMap((call) => {
    const [, query] = call.split('/requests?')
    return new URLSearchParams(query).get('since') ?? []
  })
  expect(Date.parse(since[0] ?? '')).toBeGreaterThanOrEqual(NOW.getTime() - DAY_MS)
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByText('nightly evals').waitFor()
  expect(await page.getByText(/^0\ss ago$/).count()).toBe(0)
})
