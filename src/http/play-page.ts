import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { PlayCard } from '../sale/card/play.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { formatUnits } from '../vocabulary/purchase.ts'

/** The pages, and what follows a payment. */
export interface PlayPageInput {
  readonly card: Pick<PlayCard, 'find' | 'pay'>
  /** Called with the source of a page that was paid. Its rejection is not the payer's. */
  readonly onPaid: (source: string) => Promise<unknown>
}

/** `/play/checkout/{id}`: where play money is paid for credit, while the simulator is the provider. */
export function registerPlayPage(app: FastifyInstance, { card, onPaid }: PlayPageInput): void {
  const url = '/play/checkout/:id'
  const show = async (checkoutId: string, reply: FastifyReply): Promise<FastifyReply> => {
    const checkout = await card.find(checkoutId)
    const page = checkout === null ? UNKNOWN : pageOf(checkout)
    return reply
      .code(checkout === null ? 404 : 200)
      .headers({ ...HEADERS, 'x-request-id': reply.request.id })
      .send(page)
  }
  app.get<{ Params: { id: string } }>(url, ({ params }, reply) => show(idOf(params), reply))
  app.post<{ Params: { id: string } }>(url, async ({ params }, reply) => {
    const source = await card.pay(idOf(params))
    // If this look fails, the poll finds the payment within a minute.
    if (source !== null) await onPaid(source).catch(() => {})
    return show(idOf(params), reply)
  })
}

// PostgreSQL refuses some control characters, and no id has any.
function idOf({ id }: { readonly id: string }): string {
  return /^\w+$/.test(id) ? id : ''
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:15vh auto;padding:0 1rem}' +
  'button{font:inherit;padding:.6rem 1.2rem}'

const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

function pageOf({ cents, state }: NonNullable<Awaited<ReturnType<PlayCard['find']>>>): string {
  const dollars = `$${formatUnits(BigInt(cents), 2)}`
  switch (state) {
    case 'open':
      return htmlOf(
        `<h1>Pay ${dollars} of play money</h1><p>The simulator is the provider: no card is asked for, and no real money moves.</p><form method="post"><button>Pay ${dollars}</button></form>`,
      )
    case 'paid':
      return htmlOf(`<h1>Paid</h1><p>${dollars} of play money became credit.</p>`)
    case 'expired':
      return htmlOf('<h1>Expired</h1><p>This page can no longer be paid. Begin a new purchase.</p>')
    default:
      return assertNever(state)
  }
}

function htmlOf(body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Play money</title><style>${STYLE}</style><main>${body}</main></html>`
}

const UNKNOWN = htmlOf('<h1>No such page</h1><p>Begin a new purchase.</p>')
