import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { asOperator } from '../../api/calls.ts'
import { type Delivery, deliveriesQuery, type Webhook, webhooksQuery } from '../../api/operator.ts'
import { Answer } from '../../charts/answer.tsx'
import { counted } from '../../format/numbers.ts'
import { dayOf, listTime } from '../../format/time.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { useNow } from '../../parts/now.ts'
import { Problem } from '../../parts/problem.tsx'
import { Empty, GreyForm } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { OPERATOR_READS, useOperatorWrite } from './use-operator-write.ts'
import { ChangeWebhook } from './webhook-form.tsx'
import { failingWords, WebhookChip } from './webhook-state.tsx'

const route = getRouteApi('/operator/webhooks/$id')

/** One webhook: its events, its messages, and its actions. */
export function OneWebhookScreen() {
  const { id } = route.useParams()
  const query = useQuery(webhooksQuery)
  const webhook = query.data?.data.find((each) => each.id === id)
  const host = webhook === undefined ? 'Webhook' : new URL(webhook.url).host
  useTitle(host)
  return (
    <>
      <p className="crumb">
        <Link to="/operator/webhooks">Webhooks</Link>
        <Icon name="right" small />
        <span>{host}</span>
      </p>
      <div className="top flex-wrap">
        <h1 className="basis-auto wrap-anywhere">{host}</h1>
        {webhook !== undefined && <Buttons webhook={webhook} />}
      </div>
      <Answer query={query} noun="webhook" grey={<GreyForm />}>
        {() =>
          webhook === undefined ? (
            <section className="card">
              <Empty title="Webhook not found.">
                <p>The webhook was deleted, with all its messages.</p>
              </Empty>
            </section>
          ) : (
            <>
              <Facts webhook={webhook} />
              <Deliveries webhookId={id} />
            </>
          )
        }
      </Answer>
    </>
  )
}

function Facts({ webhook }: WebhookProps) {
  const { id, url, events, disabled, failing, created_at: createdAt } = webhook
  const now = useNow()
  return (
    <p className="note mb-4 flex flex-wrap items-center gap-x-3 gap-y-1">
      <WebhookChip webhook={webhook} />
      {!disabled && failing !== null && <span>{failingWords(failing, now)}</span>}
      <span className="mono wrap-anywhere">{url}</span>
      <span>for {events.join(', ')}</span>
      <span>created {dayOf(new Date(createdAt), now)}</span>
      <span className="idl">
        <span className="mono">{id}</span>
        <CopyButton text={id} label="Copy the webhook ID" bare />
      </span>
    </p>
  )
}

interface WebhookProps {
  readonly webhook: Webhook
}

function Buttons({ webhook }: WebhookProps) {
  const { id, disabled } = webhook
  const [opened, setOpened] = useState<'change' | 'disable' | 'delete' | null>(null)
  const close = () => setOpened(null)
  const test = useOperatorWrite(
    (webhook_id: string) => asOperator('testWebhook', { webhook_id }),
    () => {},
  )
  return (
    <>
      <div className="flex flex-wrap gap-3">
        <button type="button" className="btn" onClick={() => setOpened('change')}>
          Change
        </button>
        <button type="button" className="btn" onClick={() => setOpened('disable')}>
          {disabled ? 'Enable' : 'Disable'}
        </button>
        <button type="button" className="btn" onClick={() => setOpened('delete')}>
          Delete
        </button>
        <button
          type="button"
          className="btn pri"
          disabled={disabled}
          aria-disabled={test.isPending}
          onClick={() => test.mutate(id)}
        >
          Send a test
        </button>
      </div>
      <Problem text={test.error?.message} className="basis-full" />
      {opened === 'change' && <ChangeWebhook webhook={webhook} onClose={close} />}
      {opened === 'disable' && <DisableWebhook webhook={webhook} onClose={close} />}
      {opened === 'delete' && <DeleteWebhook webhook={webhook} onClose={close} />}
    </>
  )
}

interface DialogProps extends WebhookProps {
  readonly onClose: () => void
}

function DisableWebhook({ webhook: { id, disabled: isNow }, onClose }: DialogProps) {
  // As it was when a person opened this: a change elsewhere must not turn its button round.
  const [disabled] = useState(isNow)
  return (
    <Confirm
      title={disabled ? 'Enable the webhook?' : 'Disable the webhook?'}
      submit={disabled ? 'Enable' : 'Disable'}
      send={() => asOperator('changeWebhook', { webhook_id: id, disabled: !disabled })}
      reads={OPERATOR_READS}
      done={disabled ? 'Webhook enabled.' : 'Webhook disabled.'}
      onClose={onClose}
    >
      <p>
        {disabled
          ? 'New events and queued messages are sent to the webhook. Events from the time when it was disabled are not.'
          : 'Nothing is sent to the webhook until it is enabled again. Queued messages stay queued. Events during this time are not delivered.'}
      </p>
    </Confirm>
  )
}

function DeleteWebhook({ webhook: { id, url }, onClose }: DialogProps) {
  const navigate = useNavigate()
  return (
    <Confirm
      title={`Delete the webhook at ${new URL(url).host}?`}
      submit="Delete"
      isDangerous
      send={() => asOperator('deleteWebhook', { webhook_id: id })}
      reads={OPERATOR_READS}
      done="Webhook deleted."
      onDone={() => void navigate({ to: '/operator/webhooks' })}
      onClose={onClose}
    >
      <p>Its secret and the list of its messages are deleted too. Queued messages are not sent.</p>
    </Confirm>
  )
}

const HEADS = [
  { text: 'Message' },
  { text: 'State' },
  { text: 'Created' },
  { text: 'Attempts' },
] as const

function Deliveries({ webhookId }: { webhookId: string }) {
  const query = useInfiniteQuery(deliveriesQuery(webhookId))
  return (
    <ListCard
      label="Messages"
      header={
        <header className="pb-2">
          <h2>Messages of the last 30 days</h2>
        </header>
      }
      query={query}
      rows={query.data?.pages.flatMap(({ data }) => data)}
      empty={
        <Empty title="No messages yet.">
          <p>Send a test to see that the receiver answers.</p>
        </Empty>
      }
      heads={HEADS}
      greyRows={4}
      row={(delivery) => <DeliveryRow key={delivery.id} delivery={delivery} />}
    >
      <Older query={query} noun="message" />
    </ListCard>
  )
}

const STATES = {
  waiting: { word: 'Queued', tone: 'wait' },
  delivered: { word: 'Delivered', tone: 'good' },
  failed: { word: 'Failed', tone: 'bad' },
} as const

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { id, event, state, attempts, failure, next_attempt_at: nextAt } = delivery
  const { word, tone } = STATES[state]
  return (
    <tr>
      <td className="wide">
        <b>{event}</b>
        <span className="two mono break-all">{id}</span>
      </td>
      <td>
        <span className={`chip ${tone}`}>{word}</span>
      </td>
      <td className="end text-ink-2">
        <Time at={delivery.created_at} show={listTime} />
      </td>
      <td className="wide">
        {attempts === 0 ? <span className="dimmed">None yet</span> : counted(attempts, 'attempt')}
        {failure === null &&
          delivery.http_status !== null &&
          `, answered with ${delivery.http_status}`}
        {failure !== null && <span className="two wrap-anywhere">{failure}</span>}
        {nextAt !== null && attempts > 0 && (
          <span className="two">
            next at <Time at={nextAt} show={listTime} />
          </span>
        )}
      </td>
    </tr>
  )
}
