import type { BetterAuthOptions } from 'better-auth'
import {
  type AdapterFactory,
  type CleanedWhere,
  type CustomAdapter,
  createAdapterFactory,
} from 'better-auth/adapters'
import type { ExpressionBuilder, Kysely, SqlBool } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { hashSecret } from './link-text.ts'

// better-auth names tables and columns while the program runs: here they are any.
type AnyTables = Record<string, Record<string, unknown>>
type AnyRow = Record<string, unknown>

type AuthAdapterFactory = AdapterFactory<BetterAuthOptions>
type AuthAdapter = ReturnType<AuthAdapterFactory>

/** Which table and columns better-auth uses for what it calls user, session, account and verification. */
export const TABLE_NAMES = {
  user: {
    modelName: 'users',
    fields: {
      emailVerified: 'email_verified',
      createdAt: 'created_at_ms',
      updatedAt: 'updated_at_ms',
    },
  },
  session: {
    modelName: 'sessions',
    fields: {
      userId: 'user_id',
      token: 'token_hash',
      ipAddress: 'address',
      userAgent: 'agent',
      expiresAt: 'expires_at_ms',
      createdAt: 'created_at_ms',
      updatedAt: 'updated_at_ms',
    },
  },
  account: {
    modelName: 'sign_ins',
    fields: {
      userId: 'user_id',
      providerId: 'provider',
      accountId: 'provider_user_id',
      password: 'password_hash',
      createdAt: 'created_at_ms',
      updatedAt: 'updated_at_ms',
    },
  },
  verification: {
    modelName: 'verifications',
    fields: { expiresAt: 'expires_at_ms', createdAt: 'created_at_ms', updatedAt: 'updated_at_ms' },
  },
} as const

/**
 * The storage of better-auth: the store's own tables, whose columns are text and integers on both
 * engines. The token of a session is stored as its hash.
 */
export function authAdapter(db: Kysely<Tables>): AuthAdapterFactory {
  const make = createAdapterFactory({
    config: {
      adapterId: 'tollgate',
      supportsNumericIds: false,
      customTransformInput: ({ data: value, field }) => storedValue(value, field),
      customTransformOutput: ({ data: value, fieldAttributes: { type } }) =>
        readValue(value, String(type)),
    },
    // The same tables, under names that are known only while the program runs.
    adapter: () => statements(db as unknown as Kysely<AnyTables>),
  })
  return (settings) => withPlainTokens(make(settings))
}

/** Gives better-auth the session token that it asked for or made, where the store has its hash. */
function withPlainTokens(adapter: AuthAdapter): AuthAdapter {
  return {
    ...adapter,
    async create<Row extends AnyRow, Made = Row>(input: CreateInput): Promise<Made> {
      const made = await adapter.create<AnyRow>(input)
      const isSession = input.model === 'session'
      // The library reads a row as the type that it asks for.
      return (isSession ? { ...made, token: input.data['token'] } : made) as Made
    },
    async findOne<Row>(input: Parameters<AuthAdapter['findOne']>[0]): Promise<Row | null> {
      const found = await adapter.findOne<AnyRow>(input)
      const asked = input.where.find(({ field }) => field === 'token')
      const isSession = found !== null && input.model === 'session' && asked !== undefined
      // As above.
      return (isSession ? { ...found, token: asked.value } : found) as Row | null
    },
  }
}

type CreateInput = Parameters<AuthAdapter['create']>[0]

function storedValue(value: unknown, column: string): unknown {
  if (value instanceof Date) return value.getTime()
  if (typeof value === 'boolean') return value ? 1 : 0
  return column === 'token_hash' && typeof value === 'string' ? hashSecret(value) : value
}

function readValue(value: unknown, type: string): unknown {
  if (value === null || value === undefined) return value
  if (type === 'date') return new Date(Number(value))
  return type === 'boolean' ? value === 1 : value
}

function statements(db: Kysely<AnyTables>): CustomAdapter {
  const adapter = {
    create: ({ model, data: row }: { readonly model: string; readonly data: AnyRow }) =>
      db.insertInto(model).values(row).returningAll().executeTakeFirstOrThrow(),
    findOne: async ({ model, where }: Selected) =>
      (await db.selectFrom(model).selectAll().where(matching(where)).executeTakeFirst()) ?? null,
    findMany: ({ model, where, limit }: Selected & { readonly limit: number }) =>
      db.selectFrom(model).selectAll().where(matching(where)).limit(limit).execute(),
    count: async ({ model, where }: Selected) => {
      const rows = await db.selectFrom(model).select('id').where(matching(where)).execute()
      return rows.length
    },
    update: async ({ model, where, update }: Selected & { readonly update: AnyRow }) =>
      (await db
        .updateTable(model)
        .set(update)
        .where(matching(where))
        .returningAll()
        .executeTakeFirst()) ?? null,
    updateMany: async ({ model, where, update }: Selected & { readonly update: AnyRow }) => {
      const changed = await db.updateTable(model).set(update).where(matching(where)).execute()
      return Number(changed[0]?.numUpdatedRows ?? 0)
    },
    delete: async ({ model, where }: Selected) => {
      await db.deleteFrom(model).where(matching(where)).execute()
    },
    deleteMany: async ({ model, where }: Selected) => {
      const deleted = await db.deleteFrom(model).where(matching(where)).execute()
      return Number(deleted[0]?.numDeletedRows ?? 0)
    },
  }
  // The type has rows of the type that each call of better-auth asks for.
  return adapter as unknown as CustomAdapter
}

interface Selected {
  readonly model: string
  readonly where?: readonly CleanedWhere[]
}

function matching(where: readonly CleanedWhere[] = []) {
  return (build: ExpressionBuilder<AnyTables, string>) => {
    const all = where.filter(({ connector }) => connector === 'AND')
    const any = where.filter(({ connector }) => connector === 'OR')
    const comparison = ({ field, operator, value }: CleanedWhere) =>
      build(field, ...comparedTo(operator, value))
    return build
      .and([...all.map(comparison), ...(any.length > 0 ? [build.or(any.map(comparison))] : [])])
      .$castTo<SqlBool>()
  }
}

type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'is' | 'is not'

const COMPARISONS: ReadonlyMap<unknown, Comparison> = new Map([
  ['eq', '='],
  ['ne', '!='],
  ['lt', '<'],
  ['lte', '<='],
  ['gt', '>'],
  ['gte', '>='],
  ['in', 'in'],
])

function comparedTo(operator: CleanedWhere['operator'], value: unknown): [Comparison, unknown] {
  if (value === null) return [operator === 'ne' ? 'is not' : 'is', null]
  const comparison = COMPARISONS.get(operator)
  if (comparison === undefined) throw new TypeError(`${operator} is not used`)
  return [comparison, value instanceof Date ? value.getTime() : value]
}
