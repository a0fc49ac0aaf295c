import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type CreatedWebhook, type Webhook, webhooksQuery } from '../../api/operator.ts'
import { dayOf } from '../../format/time.ts'
import { AddButton } from '../../parts/buttons.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { MadeSecret } from '../../parts/made-secret.tsx'
import { useNow } from '../../parts/now.ts'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useMade } from '../../parts/use-made.ts'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { CreateWebhook } from './webhook-form.tsx'
import { failingWords, WebhookChip } from './webhook-state.tsx'

/** The webhooks, to which events are posted, and the form for a new one. */
export function WebhooksScreen() {
  const [isCreating, setCreating] = useState(false)
  const made = useMade<CreatedWebhook>()
  return (
    <>
      <ScreenTop title="Webhooks">
        <AddButton onClick={() => setCreating(true)}>Create webhook</AddButton>
      </ScreenTop>
      {made.things.map(({ id, url, secret }) => (
        <MadeSecret
          key={id}
          title={`The secret of the webhook at ${new URL(url).host}`}
          text={secret}
          noun="secret"
          words="Copy it now: it is shown only once. With it the receiver verifies that messages are from this gateway."
          onDone={() => made.end((one) => one.id === id)}
        />
      ))}
      <WebhookTable />
      {isCreating && (
        <CreateWebhook
          onClose={() => setCreating(false)}
          onMade={(webhook) => {
            made.add(webhook)
            setCreating(false)
          }}
        />
      )}
    </>
  )
}

const HEADS = [{ text: 'Address' }, { text: 'Events' }, { text: 'State' }, { text: 'Created' }]

function WebhookTable() {
  const query = useQuery(webhooksQuery)
  return (
    <ListCard
      label="Webhooks"
      query={query}
      rows={query.data?.data}
      empty={
        <Empty title="No webhooks yet.">
          <p>
            A webhook is an https address of yours. The gateway posts to it when credit is low, a
            key is near its limit, or something needs attention.
          </p>
        </Empty>
      }
      heads={HEADS}
      greyRows={3}
      row={(webhook) => <WebhookListRow key={webhook.id} webhook={webhook} />}
    />
  )
}

function WebhookListRow({ webhook }: { webhook: Webhook }) {
  const { id, url, events, disabled, failing } = webhook
  const now = useNow()
  return (
    <tr className={disabled ? 'dim' : ''}>
      <td className="name wide">
        <Link className="hover:underline" to="/operator/webhooks/$id" params={{ id }}>
          <b title={url}>{url}</b>
        </Link>
      </td>
      <td className="wide text-ink-2">{events.join(', ')}</td>
      <td>
        <WebhookChip webhook={webhook} />
        {!disabled && failing !== null && (
          <span className="two wrap-anywhere">{failingWords(failing, now)}</span>
        )}
      </td>
      <td className="end text-ink-2">
        <span className="only-s dimmed">Created </span>
        <Time at={webhook.created_at} show={dayOf} />
      </td>
    </tr>
  )
}
