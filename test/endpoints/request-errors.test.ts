import { describe, expect, test } from 'vitest'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { DAY_MS } from '../../src/vocabulary/clock.ts'
import { setUpOperator } from '../page/page-client.ts'
import { Management } from './management.ts'

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  const admin = Management.ofEach({ database: create })

  test('failed requests are counted by error code, the most frequent first, each with its newest request', async () => {
    const operator = await setUpOperator(admin.world)
    const accountId = await admin.account(5_000_000)
    const { text } = await admin.apiKey(accountId)
    await admin.chat(text)
    const failures = []
    for (const status of [429, 500, 500]) {
      admin.world.simulator.script({ path: '/chat/completions', status })
      failures.push((await admin.chat(text)).headers['x-request-id'])
    }
    await admin.world.gateway.settled()
    const [limited, , broken] = failures
    const codes = [
      { code: 'upstream_error', requests: 2, latest: broken },
      { code: 'provider_rate_limited', requests: 1, latest: limited },
    ]
    const month = `since=${new Date(Date.now() - 30 * DAY_MS).toISOString()}`
    for (const path of [`accounts/${accountId}/requests/summary`, 'operator/requests/summary']) {
      const short = (await operator.get(path)).json
      expect(short).toMatchObject({ requests: 4, failed: 3, errors: { codes, unknown: 0 } })
      const { json } = await operator.get(`${path}?${month}`)
      expect(json).toMatchObject({ requests: 4, failed: 3, errors: { codes, unknown: 0 } })
      const none = (await operator.get(`${path}?${month}&failed=false`)).json
      expect(none).toMatchObject({ requests: 1, errors: { codes: [] } })
    }
  })
})
