import { z } from 'zod'

/**
 * Names of response fields that only operators read: costs, fees, margins, upstreams, and IDs that lead to them. They
 * are removed from each response to a key, to anyone, and to an account's members.
 */
export const OPERATOR_ONLY = [
  'backed_charge',
  'cost',
  'external_id',
  'fee_basis_points',
  'free_charge',
  'generation_id',
  'margin',
  'price_snapshot',
  'provider_cost',
  'provider_price',
  'provider_pricing',
  'uncharged_cost',
  'uncharged_provider_cost',
  'uncosted',
  'upstream',
  'written_off',
] as const

const HIDDEN: ReadonlySet<string> = new Set(OPERATOR_ONLY)

/** A response as customers get it. */
export type ForCustomers<T> = T extends readonly (infer Item)[]
  ? ForCustomers<Item>[]
  : T extends object
    ? {
        [Name in keyof T as Name extends (typeof OPERATOR_ONLY)[number]
          ? never
          : Name]: ForCustomers<T[Name]>
      }
    : T

/** The shape of a response without operators' fields, and the function that removes them from a response. */
interface CustomerShape {
  readonly shape: z.ZodType
  /** Null: the shape has none of these fields. */
  readonly withoutHidden: ((value: unknown) => unknown) | null
}

/** Removes {@link OPERATOR_ONLY} from the shape of a response, at any depth. The result is named `Customer…`. */
export function forCustomers(shape: z.ZodType): CustomerShape {
  if (shape instanceof z.ZodObject) return objectForCustomers(shape)
  if (shape instanceof z.ZodArray) {
    const { element } = shape
    return wrapped(shape, element, {
      wrap: (inner) => z.array(inner),
      apply: (run) => (value) => (Array.isArray(value) ? value.map(run) : value),
    })
  }
  if (shape instanceof z.ZodNullable) {
    return wrapped(shape, shape.unwrap(), { wrap: (inner) => inner.nullable(), apply: ifAny })
  }
  if (shape instanceof z.ZodOptional) {
    return wrapped(shape, shape.unwrap(), { wrap: (inner) => inner.optional(), apply: ifAny })
  }
  if (shape instanceof z.ZodUnion) return unionForCustomers(shape)
  return { shape, withoutHidden: null }
}

type Inner = z.core.$ZodType

function objectForCustomers(shape: z.ZodObject): CustomerShape {
  const kept: Record<string, z.ZodType> = {}
  const runs = new Map<string, (value: unknown) => unknown>()
  let hides = false
  for (const [name, member] of Object.entries(shape.shape)) {
    if (HIDDEN.has(name)) {
      hides = true
      continue
    }
    const inner = innerForCustomers(member)
    kept[name] = inner.shape
    if (inner.withoutHidden !== null) runs.set(name, inner.withoutHidden)
  }
  if (!hides && runs.size === 0) return { shape, withoutHidden: null }
  return {
    shape: described(z.object(kept), shape),
    withoutHidden(value) {
      if (typeof value !== 'object' || value === null) return value
      const shown = Object.entries(value).filter(([name]) => !HIDDEN.has(name))
      return Object.fromEntries(
        shown.map(([name, member]) => [name, runs.get(name)?.(member) ?? member]),
      )
    },
  }
}

function unionForCustomers(shape: z.ZodUnion): CustomerShape {
  const parts = shape.options.map(innerForCustomers)
  const runs = parts.flatMap(({ withoutHidden }) => withoutHidden ?? [])
  if (runs.length === 0) return { shape, withoutHidden: null }
  return {
    shape: described(z.union(parts.map((part) => part.shape)), shape),
    withoutHidden: (value) => runs.reduce((shown, run) => run(shown), value),
  }
}

interface Wrapper {
  readonly wrap: (inner: z.ZodType) => z.ZodType
  readonly apply: (run: (value: unknown) => unknown) => (value: unknown) => unknown
}

/** By position: the shape, its inner shape, and how the first is made of the second. */
function wrapped(shape: z.ZodType, member: Inner, { wrap, apply }: Wrapper): CustomerShape {
  const inner = innerForCustomers(member)
  if (inner.withoutHidden === null) return { shape, withoutHidden: null }
  return { shape: described(wrap(inner.shape), shape), withoutHidden: apply(inner.withoutHidden) }
}

function innerForCustomers(member: Inner): CustomerShape {
  if (!(member instanceof z.ZodType)) throw new TypeError('a shape of another version of zod')
  return forCustomers(member)
}

function ifAny(run: (value: unknown) => unknown): (value: unknown) => unknown {
  return (value) => (value === null || value === undefined ? value : run(value))
}

/** By position: the shape for customers, and the shape for operators, whose descriptions and name it takes. */
function described(made: z.ZodType, shape: z.ZodType): z.ZodType {
  const meta = shape.meta()
  if (meta === undefined) return made
  const { id, ...rest } = meta
  return made.meta({ ...rest, ...(typeof id === 'string' ? { id: `Customer${id}` } : {}) })
}
