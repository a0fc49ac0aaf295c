import { useState } from 'react'
import { LOW_BALANCE_MICROS_DEFAULT } from '../../../src/vocabulary/money.ts'
import { TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../../src/vocabulary/webhook-event.ts'
import { asOperator } from '../../api/calls.ts'
import type { CreatedWebhook, Webhook } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { showToast } from '../../parts/toast.ts'
import { useOperatorWrite } from './use-operator-write.ts'

const EVENT_WORDS: Readonly<Record<WebhookEvent, string>> = {
  'balance.low': `The paid credit of an account falls below its low-credit alert, ${money(LOW_BALANCE_MICROS_DEFAULT)} unless changed.`,
  'key.limit_near': 'A key has spent 90% of its credit limit or of its allowance.',
  'request.unresolved': 'The charge of a request is still unknown a minute after its end.',
  'purchase.reversed':
    'A refund or a dispute removed the credit of a purchase, or the credit was added again.',
  'upstream.away': 'An upstream has listed no models for some time.',
  'audit.difference': 'An audit, here or by the admin API, found a figure that differs.',
  'store.went_back':
    'The database lost commits, and the gateway booked them again as far as possible.',
}

interface CreateWebhookProps {
  readonly onClose: () => void
  readonly onMade: (webhook: CreatedWebhook) => void
}

/** The form for a new webhook. */
export function CreateWebhook({ onClose, onMade }: CreateWebhookProps) {
  const create = useOperatorWrite(
    (fields: WebhookFields) => asOperator('createWebhook', fields),
    onMade,
  )
  return (
    <WebhookForm
      before={{ url: '', events: WEBHOOK_EVENTS }}
      title="Create webhook"
      submit="Create webhook"
      change={create}
      onClose={onClose}
    />
  )
}

interface ChangeWebhookProps {
  readonly webhook: Webhook
  readonly onClose: () => void
}

/** Another address, or other events. */
export function ChangeWebhook({ webhook, onClose }: ChangeWebhookProps) {
  const [before] = useState(webhook)
  const change = useOperatorWrite(
    (typed: WebhookFields) =>
      asOperator('changeWebhook', { webhook_id: before.id, ...changedFields(before, typed) }),
    () => {
      onClose()
      showToast('Webhook changed.')
    },
  )
  return (
    <WebhookForm
      before={before}
      title="Change webhook"
      submit="Save"
      change={change}
      onClose={onClose}
    />
  )
}

/** Unchanged fields are not sent: another operator may have changed them meanwhile. */
function changedFields(before: WebhookFields, { url, events }: WebhookFields) {
  const isSame =
    events.length === before.events.length && events.every((event) => before.events.includes(event))
  return { ...(url === before.url ? {} : { url }), ...(isSame ? {} : { events }) }
}

interface WebhookFields {
  readonly url: string
  readonly events: readonly WebhookEvent[]
}

interface WebhookFormProps {
  readonly before: WebhookFields
  readonly title: string
  readonly submit: string
  readonly change: ReturnType<typeof useOperatorWrite<WebhookFields, unknown>>
  readonly onClose: () => void
}

function WebhookForm({ before, title, submit, change, onClose }: WebhookFormProps) {
  const [url, setUrl] = useState(before.url)
  const [events, setEvents] = useState(before.events)
  const isChanged =
    url.trim() !== before.url ||
    new Set(events).symmetricDifference(new Set(before.events)).size > 0
  const refusal = refusalOf(change.error, ['url'])
  return (
    <FormDialog
      title={title}
      submit={submit}
      write={change}
      problem={refusal.rest ?? (events.length === 0 ? 'Choose at least one event.' : null)}
      isReady={events.length > 0 && isChanged}
      onSubmit={() => change.mutate({ url: url.trim(), events })}
      onClose={onClose}
    >
      <Field
        label="Address"
        name="url"
        type="url"
        value={url}
        onChange={({ target }) => setUrl(target.value)}
        placeholder="https://"
        required
        maxLength={TEXT_CHARS_MAX.webhookUrl}
        autoComplete="off"
        error={refusal.at('url')}
        hint="Messages are posted to this address. It must begin with https:// and be public, unless TOLLGATE_WEBHOOK_NETWORKS allows its network."
      />
      <fieldset className="fld">
        <legend className="mb-1">Events</legend>
        {WEBHOOK_EVENTS.map((name) => (
          <label key={name} className="check items-start py-1">
            <input
              type="checkbox"
              checked={events.includes(name)}
              onChange={({ target: { checked } }) =>
                setEvents(checked ? [...events, name] : events.filter((each) => each !== name))
              }
            />
            <span>
              <span className="mono">{name}</span>
              <small className="block">{EVENT_WORDS[name]}</small>
            </span>
          </label>
        ))}
      </fieldset>
    </FormDialog>
  )
}
