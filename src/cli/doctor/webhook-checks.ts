import { listDeliveries } from '../../webhooks/deliveries.ts'
import { listWebhooks } from '../../webhooks/registry.ts'
import type { CommandContext } from '../command-context.ts'
import type { Finding } from './finding.ts'

/** The latest message to each webhook. */
export async function checkWebhooks({
  store: { db },
}: CommandContext): Promise<readonly Finding[]> {
  const webhooks = await listWebhooks(db)
  if (webhooks.length === 0) return [{ check: 'webhooks', state: 'ok', message: 'there are none' }]
  const findings: Finding[] = []
  for (const { id, url, disabled } of webhooks) {
    const check = `webhook ${id}`
    if (disabled) {
      const message = `${url} is disabled: \`tollgate webhook enable ${id}\` sends messages to it again`
      findings.push({ check, state: 'warning', message })
      continue
    }
    const { deliveries } = await listDeliveries(db, { webhookId: id, cursor: null, limit: 1 })
    const [latest] = deliveries
    if (latest === undefined || (latest.state === 'waiting' && latest.attempts === 0)) {
      const message = `${url} was not sent anything yet: \`tollgate webhook test ${id}\` tries it`
      findings.push({ check, state: 'ok', message })
    } else if (latest.state === 'delivered') {
      findings.push({ check, state: 'ok', message: `${url} got its latest message` })
    } else {
      const why = latest.failure ?? `it answered ${latest.httpStatus}`
      const message = `${url} did not get its latest message (${why}): \`tollgate webhook deliveries ${id}\``
      findings.push({ check, state: 'warning', message })
    }
  }
  return findings
}
