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
