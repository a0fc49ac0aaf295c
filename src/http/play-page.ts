import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { PlayCard } from '../sale/card/play.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { escaped } from '../vocabulary/escaped.ts'
import { Problem } from '../vocabulary/problem.ts'
import { formatUnits } from '../vocabulary/purchase.ts'

/** The pages, and the function that is called after a payment. */
export interface PlayPageInput {
  readonly card: Pick<PlayCard, 'find' | 'pay'>
  /** Called with the source of a page that was paid. Its rejection is not the payer's. */
  readonly onPaid: (source: string) => Promise<unknown>
  /** The address of the page. */
  readonly pageUrl: () => string
  /** The name of the service; null: the operator gave it none. */
  readonly serviceName: string | null
}

/** `/play/checkout/{id}`: where play money is paid for credit, while the simulator is the provider. */
export function registerPlayPage(
  app: FastifyInstance,
  { card, onPaid, pageUrl, serviceName }: PlayPageInput,
): void {
  const url = '/play/checkout/:id'
  const service = escaped(serviceName ?? 'tollgate')
  const backLink = (path: string) => `<a href="${path}">Back to ${service}</a>`
  const unknown = htmlOf({
    title: 'No such page',
    body: `<p>Start a new purchase.</p>${backLink('/app')}`,
  })
  const show = async (request: PlayRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const checkout = await card.find(idOf(request.params.id))
    const page = checkout === null ? unknown : pageOf(checkout, backLink(backPathOf(request)))
    return reply
      .code(checkout === null ? 404 : 200)
      .headers({ ...HEADERS, 'x-request-id': reply.request.id })
      .send(page)
  }
  app.get<PlayRoute>(url, show)
  app.post<PlayRoute>(url, async (request, reply) => {
    requireOwn(request, pageUrl())
    const source = await card.pay(idOf(request.params.id))
    // If this look fails, the poll finds the payment within a minute.
    if (source !== null) await onPaid(source).catch(() => {})
    return show(request, reply)
  })
}

/**
 * Throws Problem `foreign_origin` unless the page itself pays: a form on another site could pay in the name of its
 * visitor. By position: the request, and the address of the page.
 */
function requireOwn(
  { headers: { origin = '', host = '' } }: FastifyRequest,
  pageUrl: string,
): void {
  const own = [new URL(pageUrl).origin, `http://${host}`, `https://${host}`]
  if (own.includes(origin)) return
  throw new Problem('foreign_origin', {
    message: 'Only the button of this page can pay. Open the page, and pay there.',
  })
}

interface PlayRoute {
  Params: { id: string }
  Querystring: { account?: unknown }
}

type PlayRequest = FastifyRequest<PlayRoute>

// PostgreSQL refuses some control characters, and no ID has any. The page shows no other part of its address.
function idOf(text: unknown): string {
  return typeof text === 'string' && /^\w+$/.test(text) ? text : ''
}

/** The path back: the Credit screen of the account that buys, which then shows the purchase, or the page's start. */
function backPathOf({ params, query }: PlayRequest): string {
  const account = idOf(query.account)
  return account === '' ? '/app' : `/app/${account}/credit?bought=${idOf(params.id)}`
}

// The colours of the page, without its files.
const STYLE = `:root{color-scheme:light dark;font:14px/20px system-ui,sans-serif}
body{margin:0;min-height:100dvh;display:grid;place-items:center;background:light-dark(#f6f6f3,#101211);color:light-dark(#1b1e1c,#e8ebe8)}
main{box-sizing:border-box;width:min(400px,calc(100vw - 32px));padding:24px;border:1px solid light-dark(#e3e3dd,#2a2e2c);border-radius:12px;background:light-dark(#fff,#181a19)}
small{color:light-dark(#6b716d,#8b938e);font-size:12.5px}
h1{margin:4px 0 8px;font-size:22px;line-height:28px;font-weight:600}
p{margin:0 0 16px;color:light-dark(#565c58,#a6ada8)}
form{margin:0}
button,a{box-sizing:border-box;display:block;width:100%;padding:10px 16px;border:0;border-radius:8px;background:light-dark(#0b6b55,#4fc3a1);color:light-dark(#fff,#06231b);font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer}
:focus-visible{outline:2px solid light-dark(#0b6b55,#4fc3a1);outline-offset:2px}`

const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  // With `no-referrer` a browser would send `Origin: null` with the form.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
}

type Checkout = NonNullable<Awaited<ReturnType<PlayCard['find']>>>

/** By position: the purchase, and the link back. */
function pageOf({ cents, state }: Checkout, back: string): string {
  const dollars = `$${formatUnits(BigInt(cents), 2)}`
  switch (state) {
    case 'open':
      return htmlOf({
        title: `Pay ${dollars}`,
        body: `<p>The simulator is the provider: no card is asked for, and no real money moves.</p><form method="post"><button>Pay ${dollars}</button></form>`,
      })
    case 'paid':
      return htmlOf({
        title: 'Paid',
        body: `<p>${dollars} of play money became credit.</p>${back}`,
      })
    case 'expired':
      return htmlOf({
        title: 'Expired',
        body: `<p>This payment has expired. Start a new purchase.</p>${back}`,
      })
    default:
      return assertNever(state)
  }
}

function htmlOf({ title, body }: { readonly title: string; readonly body: string }): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} - play money</title><style>${STYLE}</style><main><small>Play money</small><h1>${title}</h1>${body}</main></html>`
}
