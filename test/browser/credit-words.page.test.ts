import { expect } from 'vitest'
import { test } from './page-test.ts'
import { json } from './stand-in.ts'
import { STATEMENT } from './stand-in-credit.ts'
import { HELIX, ME } from './stand-in-data.ts'

/** What Credit says in words. */

const at = (section: string) => `${HELIX.id}/${section}`

test('Credit says how much was removed, and that credit is not sold if the operator sells none', async ({
  page,
  server,
}) => {
  const lines = STATEMENT.lines.map((one) =>
    one.kind === 'purchase' ? { ...one, kind: 'chargeback', amount: -14_200_000 } : one,
  )
  server.answer('/statement', json({ ...STATEMENT, lines }))
  await page.goto(`${server.address}/app/${at('credit')}`)
  await page.getByText(/charged, \$[\d,.]+ added, \$[\d,.]+ removed$/).waitFor()
  await page.getByRole('button', { name: 'Add credit' }).waitFor()
  expect(await page.getByText('Credit is not sold here').count()).toBe(0)
  server.answer('/me', json({ ...ME, sells_credit: false }))
  const before = server.asked.length
  await page.reload()
  await page.getByText('Credit is not sold here: ask your operator.').waitFor()
  expect(server.asked.slice(before)).not.toContain('GET /v1/credit')
})
