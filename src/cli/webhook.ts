import {
  createdWebhookShape,
  deletedWebhookShape,
  deliveryShape,
  webhookShape,
} from '../operations/webhooks.ts'
import { type CommandGroup, show } from './operation-command.ts'
import { listOptions, readWords, shownRows } from './rows.ts'
import { moment } from './table.ts'

const WEBHOOKS = shownRows(webhookShape, {
  list: 'deliveries',
  none: 'no webhooks: create one with `tollgate webhook create https://…`',
  columns: {
    ID: ({ id }) => id,
    URL: ({ url }) => url,
    EVENTS: ({ events }) => events.join(),
    STATE: ({ disabled }) => (disabled ? 'disabled' : 'active'),
  },
})

const DELIVERIES = shownRows(deliveryShape, {
  list: 'deliveries',
  none: 'no messages yet: send one with `tollgate webhook test <webhook>`',
  columns: {
    ID: ({ id }) => id,
    EVENT: ({ event }) => event,
    STATE: ({ state }) => state,
    ATTEMPTS: ({ attempts }) => String(attempts),
    RESULT: ({ failure, http_status }) =>
      failure ?? (http_status === null ? '-' : `${http_status}`),
    CREATED: ({ created_at }) => moment(created_at),
    NEXT: ({ next_attempt_at }) => moment(next_attempt_at),
  },
})

const webhook = { flags: '<webhook>', words: 'its ID, hook_…', to: 'params.webhook_id' } as const

const events = {
  flags: '--events <events>',
  words: 'the events below, comma-separated; default: all',
  to: 'body.events',
  read: readWords,
} as const

const EVENT_HELP = `
balance.low         the paid credit of an account is below its --low-balance ($5 by default)
key.limit_near      a key has spent 90% of its limit
request.unresolved  a request has no known cost a minute after its end
upstream.away       an upstream has listed no models for three refreshes
audit.difference    an audit by the server found a figure that differs
store.went_back     the database had lost commits; the gateway booked again what it could

Each is sent once, and again only after its condition has ended. The running server sends the messages, signed by
the rules of Standard Webhooks, and retries for a day; docs/webhooks.md describes them and how to verify them.`

/** `tollgate webhook`: where events are sent. */
export const WEBHOOK_COMMANDS: CommandGroup = {
  name: 'webhook',
  words: 'create, list, change, test and delete webhooks, and list their messages',
  commands: [
    {
      name: 'create',
      runs: 'createWebhook',
      words: 'post events to an address; the secret is shown only once',
      takes: [
        { flags: '<url>', words: 'where messages are posted, https://…', to: 'body.url' },
        events,
      ],
      help: EVENT_HELP,
      show: show(createdWebhookShape, (made) => ({
        out: made.secret,
        note: `This is the only time the secret of ${made.id} is shown.`,
      })),
    },
    {
      name: 'list',
      runs: 'listWebhooks',
      words: 'list the webhooks, oldest first',
      takes: [],
      show: WEBHOOKS.page,
    },
    {
      name: 'update',
      runs: 'changeWebhook',
      words: 'change the address or the events of a webhook',
      changes: true,
      takes: [
        webhook,
        { flags: '--url <url>', words: 'where messages are posted', to: 'body.url' },
        { ...events, words: 'comma-separated; `tollgate webhook create --help` lists them' },
      ],
      show: WEBHOOKS.one,
    },
    {
      name: 'disable',
      runs: 'changeWebhook',
      words: 'stop sending messages to it',
      takes: [webhook],
      body: { disabled: true },
      show: WEBHOOKS.one,
    },
    {
      name: 'enable',
      runs: 'changeWebhook',
      words: 'send it events again',
      takes: [webhook],
      body: { disabled: false },
      show: WEBHOOKS.one,
    },
    {
      name: 'delete',
      runs: 'deleteWebhook',
      words: 'delete it and all its messages, sent or not',
      takes: [webhook],
      show: show(deletedWebhookShape, ({ id }) => ({ out: `deleted ${id}` })),
    },
    {
      name: 'test',
      runs: 'testWebhook',
      words: 'send it a test message, which the running server posts within seconds',
      takes: [webhook],
      show: show(deliveryShape, ({ id }) => ({
        out: id,
        note: 'The running server sends it. `tollgate webhook deliveries` shows the result.',
      })),
    },
    {
      name: 'deliveries',
      runs: 'listDeliveries',
      words: 'list the messages to a webhook in the last 30 days, newest first',
      takes: [webhook, ...listOptions('deliveries', 'message id')],
      show: DELIVERIES.page,
    },
  ],
}
