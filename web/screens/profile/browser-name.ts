// The first that is found names it: Edge and Opera also call themselves Chrome, and Chrome Safari.
const BROWSERS = ['Firefox', 'Edg', 'OPR', 'Chrome', 'Safari', 'curl'] as const
const NAMES: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera' }
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'] as const

/** `Firefox on Linux`: a user agent as a person says it. */
export function browserName(agent: string | null): string {
  if (agent === null) return 'Unknown browser'
  const browser = BROWSERS.find((one) => agent.includes(`${one}/`))
  const system = SYSTEMS.find((one) => agent.includes(one))
  const name = browser === undefined ? 'Unknown browser' : (NAMES[browser] ?? browser)
  return system === undefined ? name : `${name} on ${system === 'Mac OS X' ? 'macOS' : system}`
}
