import { toolName } from '../formats/fields.ts'
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../json/walk.ts'
import { echoed, Problem } from '../vocabulary/problem.ts'

/*
 * The fields of a body that are sent to a provider that bills by its counts. A dialect has one closed table for
 * each format: a field that no row names is refused before a hold is opened, since the hold could not have covered
 * what it does.
 */

/** A value of a field. Null counts as absent and is never judged. */
type Value = Exclude<JsonValue, null>

/** Names that the operator of an upstream vouches for: `priority`, or `messages.partial`. */
export type VouchedFields = ReadonlySet<string>

/** Why a value may not be sent. */
interface Fault {
  /** The path from the value that was judged: empty, `.name` or `[2].name`. Null: its name can't be shown. */
  readonly path: string | null
  /** By position: the whole path of the field. */
  readonly message: (param: string) => string
  /** Whether an operator can vouch for the field. Left out: no. */
  readonly canBeVouched?: true
}

/** The treatment of one field of a body. */
export interface FieldRow {
  /**
   * `passed`: cannot raise the bill. `held`: the hold reads it. `checked`: the listed values pass. `refused`: none does.
   */
  readonly use: 'passed' | 'held' | 'checked' | 'refused'
  /** Why an operator can't vouch for the field; null: an operator can. */
  readonly vouchFault: string | null
  /** The rows of the members of an object, or of each object in a list. */
  readonly members?: FieldTable
  /** Why the value may not be sent; null: it is sent. */
  judge(value: Value, vouched: VouchedFields): Fault | null
}

/** The rows of an object's members, by name. */
export type FieldTable = Readonly<Record<string, FieldRow>>

/** The row of an object, with the rows of its members. */
export interface ObjectRow<Rows extends FieldTable> extends FieldRow {
  readonly members: Rows
}

/** A field that was refused because no row lets it pass: the cause of its Problem. */
export class UnlistedField {
  /** Without the places in arrays, as `messages.content.weight`; null: its name can't be shown. */
  readonly name: string | null
  /** Whether `allow_fields` takes the name. */
  readonly canBeVouched: boolean

  constructor({ name, canBeVouched }: Pick<UnlistedField, 'name' | 'canBeVouched'>) {
    this.name = name
    this.canBeVouched = canBeVouched
  }
}

const LISTED = 'is listed already'

/** The field cannot raise the cost of the answer. */
export const PASSED: FieldRow = { use: 'passed', vouchFault: LISTED, judge: () => null }

/** The hold reads the field. */
export const HELD: FieldRow = { use: 'held', vouchFault: LISTED, judge: () => null }

/** The row with the same judgement, for a field that the hold reads. */
export function held(row: FieldRow): FieldRow {
  return { ...row, use: 'held' }
}

const REFUSAL_REASONS = {
  length: 'sets the length of the answer, which a hold must know',
  state: 'reads data that the vendor keeps, which may be of another account',
  price: 'causes a cost that the answer does not count',
} as const

/** A field that is refused with any value. Default advice: leave it out. */
export function refused(why: keyof typeof REFUSAL_REASONS, advice?: string): FieldRow {
  return refusing(REFUSAL_REASONS[why], advice)
}

/** Refuses a field as {@link refused} does, unless the operator vouches for it. */
export function refusedUnlessVouched(): FieldRow {
  return refusing(null)
}

function refusing(vouchFault: string | null, advice = 'Leave it out.'): FieldRow {
  const message = (param: string): string =>
    `\`${param}\` is not supported for this model. ${advice}`
  return { use: 'refused', vouchFault, judge: () => ({ path: '', message }) }
}

const UNLISTED = refusedUnlessVouched()

/** A field that may have one of these values. */
export function oneOf(...values: readonly (string | boolean)[]): FieldRow {
  const shown = values.map((value) => `\`${value}\``).join(' or ')
  // A field that accepts several values may be one that can't be left out, such as `role`.
  const message = (param: string): string =>
    values.length === 1
      ? `\`${param}\` can only be ${shown} for this model. Leave it out.`
      : `\`${param}\` can only be ${shown} for this model.`
  return checked((value) => (values.some((one) => one === value) ? null : { path: '', message }))
}

/** A whole number of zero or more, which the hold reads. */
export const HELD_COUNT: FieldRow = held(
  checked((value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0
      ? null
      : { path: '', message: (param) => `\`${param}\` must be a whole number of zero or more.` },
  ),
)

/** Text, numbers, true and false, at no depth: `except` names members that may not be there. */
export function flatObject(except: readonly string[]): FieldRow {
  const isScalar = checked((value) =>
    typeof value === 'object'
      ? { path: '', message: (param) => `\`${param}\` must be text, a number, true or false.` }
      : null,
  )
  const named: FieldTable = Object.fromEntries(except.map((name) => [name, UNLISTED]))
  return checked((value, vouched) => {
    if (!isJsonObject(value)) return notAnObject
    return judgeMembers(value, { rowOf: (name) => rowIn(named, name) ?? isScalar, vouched })
  })
}

/** An object that may have only these members. `vouchedAs`: how `allow_fields` names its members. */
export function object<Rows extends FieldTable>(
  rows: Rows,
  { vouchedAs = null }: { readonly vouchedAs?: string | null } = {},
): ObjectRow<Rows> {
  const row = checked((value, vouched) => {
    if (!isJsonObject(value)) return notAnObject
    return judgeMembers(value, { rowOf: (name) => rowIn(rows, name), vouched, vouchedAs })
  })
  return { ...row, members: rows }
}

/** An object whose listed members are judged; any other member is sent. */
export function openObject(rows: FieldTable): FieldRow {
  return checked((value, vouched) => {
    if (!isJsonObject(value)) return notAnObject
    return judgeMembers(value, { rowOf: (name) => rowIn(rows, name) ?? PASSED, vouched })
  })
}

/**
 * A mark up to which a prompt is cached. Models have prices only of these two lifetimes; any other could cost more than
 * the hold covers. Other members of a mark are not looked at.
 */
export const CACHE_MARK: FieldRow = held(openObject({ ttl: oneOf('5m', '1h') }))

/** An object that its `type` says how to judge. `untyped` judges those without one; default: none may be. */
export function byType(
  rows: FieldTable,
  { untyped }: { readonly untyped?: FieldRow } = {},
): FieldRow {
  const types = Object.keys(rows).filter((type) => rows[type]?.use !== 'refused')
  const message = (param: string): string =>
    `\`${param}\` must be one of these for this model: ${types.join(', ')}.`
  return checked((value, vouched) => {
    if (!isJsonObject(value)) return notAnObject
    const type = value['type'] ?? undefined
    if (type === undefined && untyped !== undefined) return untyped.judge(value, vouched)
    const row = typeof type === 'string' ? rowIn(rows, type) : undefined
    return row === undefined ? { path: '.type', message } : row.judge(value, vouched)
  })
}

/** An array with elements of this kind. */
export function listOf(row: FieldRow): FieldRow {
  const list = checked((value, vouched) => {
    if (!isJsonArray(value)) {
      return { path: '', message: (param) => `\`${param}\` must be an array.` }
    }
    for (let at = 0; at < value.length; at++) {
      const element = value[at]
      if (element === null || element === undefined) continue
      const fault = row.judge(element, vouched)
      if (fault !== null) return within(`[${at}]`, fault)
    }
    return null
  })
  return row.members === undefined ? list : { ...list, members: row.members }
}

/** A field that may be text, or what the row lets pass. */
export function textOr(row: FieldRow): FieldRow {
  return checked((value, vouched) => (typeof value === 'string' ? null : row.judge(value, vouched)))
}

/** Rows that refuse each of these types, all with this advice. */
export function refusedTypes<Type extends string>(
  advice: string,
  ...types: readonly Type[]
): Readonly<Record<Type, FieldRow>> {
  const row = refused('state', advice)
  // The record has exactly these keys, which `fromEntries` does not say.
  return Object.fromEntries(types.map((type) => [type, row])) as Record<Type, FieldRow>
}

/** A row whose values are judged. */
export function checked(judge: FieldRow['judge']): FieldRow {
  return { use: 'checked', vouchFault: LISTED, judge }
}

const notAnObject: Fault = { path: '', message: (param) => `\`${param}\` must be an object.` }

function rowIn(rows: FieldTable, name: string): FieldRow | undefined {
  return Object.hasOwn(rows, name) ? rows[name] : undefined
}

const MESSAGES = 'messages.'

/** Why an operator can't vouch for a field of a format, or a member of its messages; null: an operator can. */
export function vouchFault(table: FieldTable, name: string): string | null {
  const row = name.startsWith(MESSAGES)
    ? rowIn(table['messages']?.members ?? {}, name.slice(MESSAGES.length))
    : rowIn(table, name)
  return row?.vouchFault ?? null
}

interface MemberRules {
  readonly rowOf: (name: string) => FieldRow | undefined
  readonly vouched: VouchedFields
  /** Null: no member can be vouched for. */
  readonly vouchedAs?: string | null
}

function judgeMembers(
  owner: JsonObject,
  { rowOf, vouched, vouchedAs = null }: MemberRules,
): Fault | null {
  for (const name of Object.keys(owner)) {
    const value = owner[name]
    if (value === null || value === undefined) continue
    const row = rowOf(name) ?? UNLISTED
    const canBeVouched = row.vouchFault === null && vouchedAs !== null
    if (canBeVouched && vouched.has(vouchedAs + name)) continue
    const fault = row.judge(value, vouched)
    if (fault === null) continue
    const shown = echoed(name)
    if (shown === null) return { ...fault, path: null }
    return { ...within(`.${shown}`, fault), ...(canBeVouched ? { canBeVouched } : {}) }
  }
  return null
}

function within(step: string, fault: Fault): Fault {
  return fault.path === null ? fault : { ...fault, path: step + fault.path }
}

/** Throws Problem `unsupported_parameter` for the first field of a body that its table does not let pass. */
export function requireListed(
  root: JsonObject,
  { table, vouched }: { readonly table: FieldTable; readonly vouched: VouchedFields },
): void {
  const fault = judgeMembers(root, {
    rowOf: (name) => rowIn(table, name),
    vouched,
    vouchedAs: '',
  })
  if (fault === null) return
  const param = fault.path?.slice(1) ?? null
  const cause = new UnlistedField({
    name: param === null ? null : param.replaceAll(/\[\d+\]/g, ''),
    canBeVouched: fault.canBeVouched === true,
  })
  if (param === null) {
    const message = 'A field of the body is not supported for this model. Leave it out.'
    throw new Problem('unsupported_parameter', { message, cause })
  }
  const message = fault.message(param) + ofTool(root, param)
  throw new Problem('unsupported_parameter', { param, message, cause })
}

/** The name of the tool that a path leads into; empty: none. */
function ofTool(root: JsonObject, param: string): string {
  const place = /^tools\[(\d+)\]/.exec(param)?.[1]
  const tools = root['tools']
  const tool = Array.isArray(tools) && place !== undefined ? tools[Number(place)] : null
  const name = tool === null || tool === undefined ? null : toolName(tool)
  return name === null ? '' : ` It is the tool \`${name}\`.`
}
