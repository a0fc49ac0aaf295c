import { setImmediate as turn } from 'node:timers/promises'
import type { EnvelopeFamily } from '../../formats/format.ts'
import { readRecord } from '../../json/walk.ts'
import { canBeEmpty } from '../../operations/check-input.ts'
import type { Operation } from '../../operations/operation.ts'
import { PROBLEMS, type ProblemCode } from '../../vocabulary/problem.ts'
import type { AdminScope } from '../../vocabulary/role.ts'
import {
  answerSchema,
  componentRef,
  ENVELOPES,
  FIELD_WORDS,
  type JsonSchema,
  type NamedSchemas,
  PATH_PARAMETER_WORDS,
  requestSchema,
} from './schemas.ts'

/** The credential that a caller sends; `none`: no credential. */
type Access = 'key' | 'admin' | 'none'

/** One method on one path, as the document shows it. */
export interface DocumentedOperation {
  readonly name: string
  /** In lower case. */
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly access: Access
  /** The scope that an admin's token needs. Default: none. */
  readonly scope?: AdminScope | null
  readonly family: EnvelopeFamily
  readonly isRetired: boolean
  readonly parameters: readonly Parameter[]
  /** Null: it takes none. */
  readonly body: JsonSchema | null
  /** Whether an empty body is read as `{}`. */
  readonly canBodyBeEmpty: boolean
  /** A body; undefined if it takes none. */
  readonly example: object | undefined
  /** Successes by status; each media type with its schema. */
  readonly answers: readonly DocumentedAnswer[]
  readonly problems: readonly ProblemCode[]
}

/** A parameter of a path, of a query, or in a header. */
interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string
  readonly schema: JsonSchema
  readonly example?: string
}

/** A success. */
export interface DocumentedAnswer {
  readonly httpStatus: number
  readonly description: string
  /** Descriptions of the headers other than `x-request-id`, by name. */
  readonly headers: Readonly<Record<string, string>>
  /** By media type. */
  readonly content: Readonly<Record<string, JsonSchema>>
}

/** Operations under one title. */
export interface DocumentSection {
  readonly title: string
  /** Their purpose, in a sentence. */
  readonly description: string
  readonly operations: readonly DocumentedOperation[]
}

type OpenApiDocument = Readonly<Record<string, unknown>>

/** Refusals before there is a request, on every path: bytes that are not HTTP, or headers that are too large. */
export const OF_CONNECTIONS: readonly ProblemCode[] = ['bad_request', 'headers_too_large']

/** Codes that every operation may answer with. */
const ALWAYS: readonly ProblemCode[] = [...OF_CONNECTIONS, 'internal_error', 'service_unavailable']

/** Codes of each kind of caller's credential. */
const OF_CALLERS: Readonly<Record<'key' | 'admin' | 'anyone', readonly ProblemCode[]>> = {
  anyone: [],
  key: [
    'missing_api_key',
    'invalid_api_key',
    'account_suspended',
    'api_key_disabled',
    'api_key_expired',
    'rate_limited',
  ],
  admin: ['invalid_admin_token', 'admin_scope_missing', 'rate_limited'],
}

/** Describes an operation for one kind of caller, from its schemas; null: that kind may not call it. */
export function documentedOperation(
  operation: Operation,
  { access, named }: { readonly access: keyof typeof OF_CALLERS; readonly named: NamedSchemas },
): DocumentedOperation | null {
  const path = operation.paths[access]
  if (path === undefined) return null
  const ofBody: readonly ProblemCode[] =
    operation.body === null
      ? []
      : ['invalid_json', 'invalid_parameter', 'request_too_large', 'request_timeout']
  const ofQuery: readonly ProblemCode[] = operation.query === null ? [] : ['invalid_parameter']
  const ofQueries = queryParameters(operation)
  const asCsv = ofQueries.some(takesCsv) ? { 'text/csv': { type: 'string' } } : {}
  const ofCaller = OF_CALLERS[access]
  return {
    // Names are unique in a document: where both kinds may call, the admin's has the operation's own name.
    name:
      access === 'key' && operation.paths.admin !== undefined
        ? `${operation.name}ByKey`
        : operation.name,
    method: operation.method.toLowerCase(),
    path,
    summary: operation.summary,
    access: access === 'anyone' ? 'none' : access,
    scope: access === 'admin' ? operation.scope : null,
    family: 'openai',
    isRetired: false,
    parameters: [...pathParameters(path), ...ofQueries],
    body: operation.body === null ? null : requestSchema(operation.body),
    canBodyBeEmpty: operation.body !== null && canBeEmpty(operation.method, operation.body),
    example: operation.example,
    answers: Object.entries(operation.answersTo(access)).map(([httpStatus, shape]) => ({
      httpStatus: Number(httpStatus),
      description: successWords(operation.answersTo(access), httpStatus),
      headers: {},
      content: { 'application/json': answerSchema(shape, named), ...asCsv },
    })),
    problems: [...new Set([...ofCaller, ...operation.problems, ...ofBody, ...ofQuery, ...ALWAYS])],
  }
}

/** Whether a parameter asks for the answer as CSV. */
function takesCsv({ schema }: Parameter): boolean {
  return Array.isArray(schema['enum']) && schema['enum'].includes('csv')
}

/** By position: the answers of an operation, by status, and one of these statuses. */
function successWords(answers: Readonly<Record<string, unknown>>, httpStatus: string): string {
  if (httpStatus === '201') return 'Created.'
  return '201' in answers ? 'Success: nothing new was created.' : 'Success.'
}

/** The parameters in the braces of a path. */
export function pathParameters(path: string): readonly Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: PATH_PARAMETER_WORDS.get(name) ?? '',
    schema: { type: 'string' },
    ...(PATH_EXAMPLES[name] === undefined ? {} : { example: PATH_EXAMPLES[name] }),
  }))
}

// A model's id is two parameters of a path.
const PATH_EXAMPLES: Readonly<Record<string, string>> = { author: 'sim', name: 'text' }

// Values for the commands on the page at /docs, which send the required parameters. The shell fills in its variable.
const QUERY_EXAMPLES: Readonly<Record<string, string>> = { amount: '10000000', id: '$REQUEST_ID' }

function queryParameters({ query }: Operation): readonly Parameter[] {
  if (query === null) return []
  const { properties, required } = requestSchema(query)
  if (typeof properties !== 'object' || properties === null) return []
  return Object.entries(properties).map(([name, property]) => {
    const { description = '', ...schema } = property
    const isRequired = Array.isArray(required) && required.includes(name)
    const example = QUERY_EXAMPLES[name]
    return {
      name,
      in: 'query',
      required: isRequired,
      description,
      schema,
      ...(isRequired && example !== undefined ? { example } : {}),
    }
  })
}

/**
 * The OpenAPI document of the whole service, for people and for client generators. By position: its version, and what it
 * has. Takes a turn of the event loop for each operation.
 */
export async function openApiDocument(
  version: string,
  {
    sections,
    named,
  }: { readonly sections: readonly DocumentSection[]; readonly named: NamedSchemas },
): Promise<OpenApiDocument> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { title, operations } of sections) {
    for (const each of operations) {
      await turn()
      const described = withDescriptions(operationObject(each, title))
      paths[each.path] = { ...paths[each.path], [each.method]: described }
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'tollgate',
      version,
      description:
        'A gateway to hosted models with prepaid credit. Money is whole micro-dollars, 1,000,000 to the dollar; times are RFC 3339.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: sections.map(({ title, description }) => ({ name: title, description })),
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key, `sk-<tag>-…`.' },
        keyHeader: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'The same API key, for clients that send it in this header.',
        },
        adminToken: {
          type: 'http',
          scheme: 'bearer',
          description: '`ADMIN_API_TOKEN`, or a token of `/v1/admin/tokens`.',
        },
      },
      schemas: readRecord(withDescriptions({ ...Object.fromEntries(named), ...ENVELOPES })) ?? {},
    },
    'x-problems': Object.fromEntries(
      Object.entries(PROBLEMS).map(([code, { httpStatus, retryable, meaning, remedy }]) => [
        code,
        { status: httpStatus, retryable, meaning, remedy },
      ]),
    ),
  }
}

/** Gives each property that has no description, and is not a constant, that of {@link FIELD_WORDS}. */
function withDescriptions(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withDescriptions)
  if (typeof node !== 'object' || node === null) return node
  const entries = Object.entries(node).map(([name, value]) => [name, withDescriptions(value)])
  const described = Object.fromEntries(entries)
  const { properties } = described
  if (typeof properties !== 'object' || properties === null) return described
  return {
    ...described,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [
        name,
        {
          ...wordsFor(name, readRecord(schema) ?? {}),
          ...readRecord(schema),
        },
      ]),
    ),
  }
}

function wordsFor(name: string, schema: JsonSchema): JsonSchema {
  const description = FIELD_WORDS.get(name)
  return description === undefined || 'const' in schema ? {} : { description }
}

function operationObject(operation: DocumentedOperation, tag: string): object {
  return {
    operationId: operation.name,
    summary: operation.summary,
    ...(operation.scope == null
      ? {}
      : {
          description: `Needs an admin token with the scope \`${operation.scope}\`.`,
          'x-admin-scope': operation.scope,
        }),
    tags: [tag],
    ...(operation.isRetired ? { deprecated: true } : {}),
    security: SECURITY[operation.access],
    ...(operation.parameters.length === 0
      ? {}
      : { parameters: operation.parameters.map(parameterObject) }),
    ...(operation.body === null
      ? {}
      : {
          requestBody: {
            required: !operation.canBodyBeEmpty,
            content: {
              'application/json': { schema: operation.body, example: operation.example },
            },
          },
        }),
    responses: { ...successes(operation), ...refusals(operation) },
  }
}

const SECURITY: Readonly<Record<Access, readonly object[]>> = {
  key: [{ key: [] }, { keyHeader: [] }],
  admin: [{ adminToken: [] }],
  none: [],
}

function parameterObject({ description: own, ...parameter }: Parameter): object {
  const description = own === '' ? FIELD_WORDS.get(parameter.name) : own
  return description === undefined ? parameter : { ...parameter, description }
}

const REQUEST_ID = { 'x-request-id': 'The ID of the request.' }

function successes({ answers }: DocumentedOperation): Record<string, object> {
  return Object.fromEntries(
    answers.map(({ httpStatus, description, headers, content }) => [
      httpStatus,
      {
        description,
        headers: headersObject({ ...REQUEST_ID, ...headers }),
        content: Object.fromEntries(
          Object.entries(content).map(([mediaType, schema]) => [mediaType, { schema }]),
        ),
      },
    ]),
  )
}

function headersObject(headers: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]),
  )
}

function refusals({ problems, family }: DocumentedOperation): Record<string, object> {
  const byStatus = Map.groupBy(problems, (code) => PROBLEMS[code].httpStatus)
  const schema = componentRef(family === 'messages' ? 'MessagesError' : 'Error')
  const headers = headersObject(REQUEST_ID)
  return Object.fromEntries(
    [...byStatus].map(([httpStatus, codes]) => [
      httpStatus,
      {
        description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].meaning}`).join('\n\n'),
        headers,
        content: { 'application/json': { schema } },
        'x-codes': codes,
      },
    ]),
  )
}
