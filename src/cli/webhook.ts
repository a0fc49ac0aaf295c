import {
  createdWebhookShape,
  deletedWebhookShape,
  deliveryShape,
  webhookShape,
} from '../operations/gateway/webhooks.ts'
import { idArgument } from './ids.ts'
import { type CommandGroup, show, showNamed } from './operation-command.ts'
import { readWords } from './options.ts'
import { listOptions, shownRows } from './rows.ts'
import { moment } from './table.ts'

const WEBHOOKS = shownRows(webhookShape, {
  none: 'no webhooks: create one with `tollgate webhook create https://…`',
  cut: ['URL', 'EVENTS', 'FAILURE'],
  columns: {
    ID: ({ id }) => id,
    URL: ({ url }) => url,
    EVENTS: ({ events }) => events.join(),
    STATE: ({ disabled, failing }) =>
      disabled ? 'disabled' : failing === null ? 'active' : 'failing',
    FAILURE: ({ failing }) =>
      failing === null ? '-' : `since ${moment(failing.since)}: ${failing.failure}`,
  },
})

const DELIVERIES = shownRows(deliveryShape, {
  list: 'deliveries',
  none: 'no messages yet: send one with `tollgate webhook test <webhook>`',
  cut: ['RESULT'],
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

const webhook = idArgument('hook', '<webhook>', 'params.webhook_id')

const events = {
  flags: '--events <events>',
  words: 'only these events, listed below, comma-separated; default: all',
  to: 'body.events',
  read: readWords,
} as const

const EVENT_HELP = `Events:
balance.low         the paid credit of an account is below its --low-balance
key.limit_near      a key has spent 90% of its limit
request.unresolved  a request has no known cost a minute after its end
purchase.reversed   a refund or dispute changed the credit of a purchase
upstream.away       an upstream has listed no models for three refreshes
audit.difference    an audit by the server found a figure that differs
store.went_back     the database lost commits; the gateway booked again what it
                    could

Each event is sent once, and again only after its condition has ended; each
refund or dispute is sent once. The running server sends the messages, signed by
the rules of Standard Webhooks, and tries each up to ten times in about 33
hours. docs/webhooks.md describes them and how to verify them.`

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
        {
          flags: '<url>',
          words: 'the address that events are posted to, https://…',
          to: 'body.url',
        },
        events,
      ],
      help: EVENT_HELP,
      examples: ['tollgate webhook create https://example.com/hook --events balance.low'],
      show: showNamed(createdWebhookShape, async (made, { settings: { typedName } }) => ({
        out: made.secret,
        note: `Created ${made.id}, which posts to ${made.url}. This is the only time its secret is shown. Try it: \`${typedName} webhook test ${made.id}\``,
      })),
    },
    {
      name: 'list',
      runs: 'listWebhooks',
      words: 'list the webhooks, oldest first',
      takes: [],
      examples: ['tollgate webhook list'],
      show: WEBHOOKS.page,
    },
    {
      name: 'update',
      runs: 'changeWebhook',
      words: 'change the address or the events of a webhook',
      changes: true,
      takes: [
        webhook,
        { flags: '--url <url>', words: 'the new address, https://…', to: 'body.url' },
        {
          ...events,
          words: 'only these events, comma-separated; `tollgate webhook create --help` lists them',
        },
      ],
      examples: ['tollgate webhook update example.com --events key.limit_near,upstream.away'],
      show: WEBHOOKS.one,
    },
    {
      name: 'disable',
      runs: 'changeWebhook',
      words: 'stop sending messages to a webhook',
      takes: [webhook],
      examples: ['tollgate webhook disable example.com'],
      body: { disabled: true },
      show: WEBHOOKS.one,
    },
    {
      name: 'enable',
      runs: 'changeWebhook',
      words: 'send events to a disabled webhook again',
      takes: [webhook],
      examples: ['tollgate webhook enable example.com'],
      body: { disabled: false },
      show: WEBHOOKS.one,
    },
    {
      name: 'delete',
      runs: 'deleteWebhook',
      words: 'delete a webhook and all its messages, sent or not',
      takes: [webhook],
      examples: ['tollgate webhook delete example.com'],
      show: show(deletedWebhookShape, ({ id, url }) => ({
        out: `deleted ${url} (${id}) and its messages`,
      })),
    },
    {
      name: 'test',
      runs: 'testWebhook',
      words: 'send a test message, which the running server posts within seconds',
      takes: [webhook],
      examples: ['tollgate webhook test example.com'],
      show: showNamed(deliveryShape, async ({ id }, { sent, settings: { typedName } }) => ({
        out: id,
        note: `The running server sends it. \`${typedName} webhook deliveries ${sent.params['webhook_id']}\` shows the result.`,
      })),
    },
    {
      name: 'deliveries',
      runs: 'listDeliveries',
      words: 'list the messages to a webhook in the last 30 days, newest first',
      takes: [webhook, ...listOptions('deliveries', 'message ID')],
      examples: ['tollgate webhook deliveries example.com --limit 100'],
      show: DELIVERIES.page,
    },
  ],
}
