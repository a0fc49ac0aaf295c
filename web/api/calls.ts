import type { z } from 'zod'
import type { FACTOR_CALLS } from '../../src/http/page/factor-routes.ts'
import type { HoldEstimate, PLAYGROUND_CALLS } from '../../src/http/page/playground-routes.ts'
import type { SESSION_CALLS } from '../../src/http/page/session-routes.ts'
import type { USER_CALLS } from '../../src/http/page/user-routes.ts'
import type { ForCustomers } from '../../src/operations/customer-fields.ts'
import type { ProductOperation } from '../../src/operations/operations.ts'
import type { PageCaller, PageRoutes } from '../routes-of-page.ts'
import { openAnswer, read, withQuery, write } from './client.ts'

/** Calls of the server. Path, method, input and answer are those of the description that the server has of each. */

type Call =
  | ProductOperation
  | (typeof SESSION_CALLS | typeof FACTOR_CALLS | typeof USER_CALLS)[number]

type Calls = { readonly [C in Call as C['name']]: C }

/** Names of the calls that a caller has; of several callers: that each of them has. */
export type NameFor<As extends PageCaller> = {
  [Name in keyof Calls]: [As] extends [keyof Calls[Name]['paths']] ? Name : never
}[keyof Calls]

type PathOf<C extends Call, As> = C['paths'][As & keyof C['paths']]

type Params<Path> = Path extends `${string}{${infer Param}}${infer Rest}`
  ? { readonly [Name in Param]: string } & Params<Rest>
  : unknown

// It does not distribute: a call without a query has the type never there.
type Sent<Shape extends z.ZodType> = [Shape] extends [z.ZodUndefined]
  ? unknown
  : Given<z.input<Shape>>

type Given<T> = T extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Given<T[Name]> }
    : T

/** A query as the page has it: written as text, several values with commas between them; null is left out. */
type QueryFields<Query> = {
  readonly [Name in keyof Query]: undefined extends Query[Name]
    ? AsText<Query[Name]> | null
    : AsText<Query[Name]>
}

type AsText<Field> = string extends Field
  ? Field | number | readonly string[]
  : 'true' extends Field
    ? Field | boolean
    : Field

/** The parameters of the path, and the fields of the query or of the body. */
export type Input<Name extends keyof Calls, As extends PageCaller> = Params<
  PathOf<Calls[Name], As>
> &
  QueryFields<Sent<NonNullable<Calls[Name]['query']>>> &
  Sent<NonNullable<Calls[Name]['body']>>

type Answers<C extends Call> = C extends ProductOperation
  ? z.infer<C['answers'][keyof C['answers']]>
  : Awaited<ReturnType<C['run']>>

/** The answer of an operation to a caller: only operators get the fields that customers must not see. */
export type Answer<Name extends keyof Calls, As extends PageCaller> = [As] extends [
  'browser' | 'operator',
]
  ? Answers<Calls[Name]>
  : ForCustomers<Answers<Calls[Name]>>

/** A row of a list that an operation answers. */
export type Row<Name extends keyof Calls, As extends PageCaller> =
  Answer<Name, As> extends {
    readonly data: readonly (infer Item)[]
  }
    ? Item
    : never

/** Makes the function that calls the server as a caller. For several callers: the calls that all of them may make. */
export function callAs<As extends PageCaller>(as: As) {
  return <Name extends NameFor<As>>(
    name: Name,
    input: Input<Name, As>,
    signal?: AbortSignal,
  ): Promise<Answer<Name, As>> => {
    const { method, path, fields } = routed(as, name, input)
    return method === 'GET' ? read(withQuery(path, fields), signal) : write(method, path, fields)
  }
}

/** Calls an operation as the signed-in user on the pages of an account. Throws as `read` and `write` do. */
export const asMember = callAs('member')

/** Calls an operation as an operator, on the pages of operators. Throws as {@link asMember} does. */
export const asOperator = callAs('operator')

/** Calls an operation that needs no session. Throws as {@link asMember} does. */
export const asAnyone = callAs('anyone')

/** Calls what reads or sets the cookies of this browser, signed in or not. Throws as {@link asMember} does. */
export const asBrowser = callAs('browser')

/** The address of an operation's answer, for a link that downloads it. */
export function hrefOf<As extends PageCaller, Name extends NameFor<As>>(
  as: As,
  name: Name,
  input: Input<Name, As>,
): string {
  const { path, fields } = routed(as, name, input)
  return withQuery(path, fields)
}

type Asked = Params<(typeof PLAYGROUND_CALLS)[0]['paths']['member']>

/**
 * Asks a model in the Playground; the answer is read as it comes. Throws as `openAnswer` does. By position: the account
 * and the format, a body of this format, and what ends the call.
 */
export function askPlayground(asked: Asked, body: object, signal: AbortSignal): Promise<Response> {
  const { path } = routed('member', 'askPlayground', asked)
  return openAnswer(path, body, signal)
}

/** The hold that {@link askPlayground} would need. Takes the same, and throws the same. */
export async function estimateHold(
  asked: Asked,
  body: object,
  signal: AbortSignal,
): Promise<HoldEstimate> {
  const { path, fields } = routed('member', 'estimateHold', asked)
  const response = await openAnswer(withQuery(path, fields), body, signal)
  // The server answers it with this type.
  return (await response.json()) as HoldEstimate
}

/** The build of the page puts the routes here. */
declare const PAGE_ROUTES: PageRoutes

function routed(as: PageCaller, name: string, input: object) {
  const route = PAGE_ROUTES[name]
  const template = route?.paths[as]
  if (route === undefined || template === undefined) throw new TypeError(`${as} has no ${name}`)
  const given = new Map<string, string | number | null>(Object.entries(input))
  const path = template.replace(/\{(\w+)\}/g, (_, param) => {
    const value = given.get(param)
    given.delete(param)
    return encodeURIComponent(String(value))
  })
  return { method: route.method, path, fields: Object.fromEntries(given) }
}
