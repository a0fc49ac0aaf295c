type SearchValue = string | readonly string[]

/** Reads a query as it is written: `?key=a&key=b`, without quotes and brackets. */
export function parseSearch(text: string): Record<string, SearchValue> {
  const search: Record<string, SearchValue> = {}
  const params = new URLSearchParams(text)
  for (const name of new Set(params.keys())) {
    const [first = '', ...more] = params.getAll(name)
    search[name] = more.length === 0 ? first : [first, ...more]
  }
  return search
}

/** Writes a query: undefined and null are left out, lists are repeated. */
export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(search)) {
    if (value === undefined || value === null) continue
    for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one))
  }
  return params.size === 0 ? '' : `?${params}`
}

/** The fields that are set, for an address: undefined ones are left out. */
export function setFields<Fields extends object>(fields: Fields) {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined)
  // It has no other fields than these.
  return Object.fromEntries(set) as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
}

/** A text of an address; undefined: there is none. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The texts of an address; undefined: there are none. */
export function textsOf(value: unknown): readonly string[] | undefined {
  const texts = (Array.isArray(value) ? value : [value]).flatMap((one) => textOf(one) ?? [])
  return texts.length === 0 ? undefined : texts
}

/** Whether the parameter of an address is set; undefined: it is absent. */
export function flagOf(value: unknown): true | undefined {
  return value === 'true' || value === true ? true : undefined
}
