import { makeLink } from '../../src/people/links.ts'
import type { World } from '../world.ts'

/** The answer to a call of the page. */
export interface PageAnswer {
  readonly httpStatus: number
  readonly headers: Headers
  /** The whole body as text. */
  readonly text: string
  /** Its JSON; null if it is not JSON. */
  readonly json: Record<string, unknown>
}

interface BrowserInput {
  /** The address that a proxy in front of the gateway reports. */
  readonly address?: string
  /** The page's own origin; default the gateway's address. */
  readonly origin?: string
}

/** A browser on the page: sends its origin, and keeps cookies. */
export class Browser {
  readonly #world: Pick<World, 'url'>
  readonly #input: BrowserInput
  readonly cookies = new Map<string, string>()

  constructor(world: Pick<World, 'url'>, input: BrowserInput = {}) {
    this.#world = world
    this.#input = input
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<PageAnswer> {
    return this.call('GET', path, { headers })
  }

  post(path: string, body: object = {}): Promise<PageAnswer> {
    return this.call('POST', path, { body })
  }

  /** Calls a path below `/app/api`. */
  async call(
    method: string,
    path: string,
    {
      body,
      headers = {},
    }: {
      readonly body?: unknown
      readonly headers?: Readonly<Record<string, string>>
    } = {},
  ): Promise<PageAnswer> {
    const { address, origin = new URL(this.#world.url('/')).origin } = this.#input
    const isReading = method === 'GET'
    const sent = await fetch(this.#world.url(`/app/api/${path}`), {
      method,
      redirect: 'manual',
      headers: {
        'user-agent': 'Test browser',
        ...(isReading ? {} : { origin, 'content-type': 'application/json' }),
        ...(address === undefined ? {} : { 'x-forwarded-for': address }),
        ...(this.cookies.size === 0 ? {} : { cookie: this.#cookieText() }),
        ...headers,
      },
      ...(isReading ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body ?? {}) }),
    })
    for (const cookie of sent.headers.getSetCookie()) this.#keep(cookie)
    const text = await sent.text()
    const isJson = sent.headers.get('content-type')?.startsWith('application/json') ?? false
    return {
      httpStatus: sent.status,
      headers: sent.headers,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : {},
    }
  }

  #cookieText(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  #keep(cookie: string): void {
    const [pair = '', ...attributes] = cookie.split(';')
    const [name = '', value = ''] = pair.split('=')
    if (attributes.some((each) => each.trim() === 'Max-Age=0')) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }
}

/** A person who signs in. */
export const ADA = { email: 'ada@example.org', password: 'correct horse battery' } as const

/** The parts that links are made with. */
export function linkParts({ gateway: { store, ids } }: Pick<World, 'gateway'>) {
  return { db: store.db, ids, clock: { nowMs: () => Date.now() } }
}

/** A browser in which the first operator is signed in: {@link ADA}. */
export async function setUpOperator(world: World, input: BrowserInput = {}): Promise<Browser> {
  const { text: token } = await makeLink(linkParts(world), { kind: 'setup' })
  const browser = new Browser(world, input)
  const { httpStatus, text } = await browser.post('setup', { token, name: 'Ada', ...ADA })
  if (httpStatus !== 201) throw new Error(`setup was refused: ${text}`)
  return browser
}

export interface Guest extends BrowserInput {
  readonly email: string
  readonly accountId: string
  readonly role: 'member' | 'owner'
}

/** A browser in which an invited person is signed in. */
export async function inviteGuest(
  world: World,
  { email, accountId, role, ...input }: Guest,
): Promise<Browser> {
  const membership = { accountId, role }
  const invitation = { kind: 'invitation', email, isOperator: false, membership } as const
  const { text: token } = await makeLink(linkParts(world), invitation)
  const browser = new Browser(world, input)
  const guest = { token, name: email, password: ADA.password }
  const { httpStatus, text } = await browser.post('auth/invitation', guest)
  if (httpStatus !== 201) throw new Error(`the invitation was refused: ${text}`)
  return browser
}

/** The rows that a call for an email leaves in the store, by table, and the shape of its answer. */
export async function tracesOf(
  { gateway: { store } }: Pick<World, 'gateway'>,
  call: () => Promise<PageAnswer>,
) {
  const count = async () => {
    const links = await store.db.selectFrom('links').select('id').execute()
    const rates = await store.db.selectFrom('mail_rates').select('mails').execute()
    return [links.length, rates.reduce((sum, { mails }) => sum + mails, 0)]
  }
  const [linksBefore = 0, ratesBefore = 0] = await count()
  const { httpStatus, json, headers } = await call()
  const [links = 0, rates = 0] = await count()
  const shape = [httpStatus, Object.keys(json), [...headers.keys()].toSorted()]
  return { json, shape, written: [links - linksBefore, rates - ratesBefore] }
}

/** The error of an answer, as far as programs read it. */
export function errorOf(answer: PageAnswer): object {
  const { error } = answer.json
  const { code, param } = Object(error)
  return { httpStatus: answer.httpStatus, code, param }
}

/** Exact dollars of a CSV as micro-dollars. */
export function microsOf(dollars: string): number {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(dollars) ?? []
  const amountMicros = Number(whole) * 1_000_000 + Number(fraction.padEnd(6, '0'))
  return sign === '-' ? -amountMicros : amountMicros
}
