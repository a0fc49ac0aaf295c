import type { Webhook } from '../../api/operator.ts'
import { dayAndShortMinute } from '../../format/time.ts'

/** Whether messages to a webhook are sent, and arrive. */
export function WebhookChip({ webhook: { disabled, failing } }: { readonly webhook: Webhook }) {
  if (disabled) return <span className="chip off">Disabled</span>
  if (failing !== null) return <span className="chip bad">Failing</span>
  return <span className="chip good">Active</span>
}

/** `since 21 Nov, 22:05: answered with 503`. By position: the failure, and the present moment. */
export function failingWords(
  { since, failure }: NonNullable<Webhook['failing']>,
  now: Date,
): string {
  return `since ${dayAndShortMinute(new Date(since), now)}: ${failure}`
}
