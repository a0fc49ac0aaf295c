import type { z } from 'zod'
import type { ForCustomers } from '../../src/operations/customer-fields.ts'
import type { ProductOperation } from '../../src/operations/operations.ts'
import type { PageCaller, PageRoutes } from '../routes-of-page.ts'
import { read, withQuery, write } from './client.ts'

/** Calls of operations. Path, method, input and answer are those of the operation's description on the server. */

type Operations = { readonly [O in ProductOperation as O['name']]: O }

/** Names of the operations that a caller has; of several callers: that each of them has. */
type NameFor<As extends PageCaller> = {
  [Name in keyof Operations]: [As] extends [keyof Operations[Name]['paths']] ? Name : never
}[keyof Operations]

type PathOf<O extends ProductOperation, As> = O['paths'][As & keyof O['paths']]

type Params<Path> = Path extends `${string}{${infer Param}}${infer Rest}`
  ? { readonly [Name in Param]: string } & Params<Rest>
  : unknown

type Sent<Shape extends z.ZodType> = Shape extends z.ZodUndefined ? unknown : Given<z.input<Shape>>

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
export type Input<Name extends keyof Operations, As extends PageCaller> = Params<
  PathOf<Operations[Name], As>
> &
  QueryFields<Sent<NonNullable<Operations[Name]['query']>>> &
  Sent<NonNullable<Operations[Name]['body']>>

type Answers<O extends ProductOperation> = z.infer<O['answers'][keyof O['answers']]>

/** What an operation answers to a caller: to operators alone with what customers must not see. */
export type Answer<Name extends keyof Operations, As extends PageCaller> = [As] extends ['operator']
  ? Answers<Operations[Name]>
  : ForCustomers<Answers<Operations[Name]>>

/** Makes the function that calls operations as a caller; as one of several: those that each of them has. */
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

/** The address of an operation's answer, for a link that downloads it. */
export function hrefOf<As extends PageCaller, Name extends NameFor<As>>(
  as: As,
  name: Name,
  input: Input<Name, As>,
): string {
  const { path, fields } = routed(as, name, input)
  return withQuery(path, fields)
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
