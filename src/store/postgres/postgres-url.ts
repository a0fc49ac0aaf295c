/** One server of a PostgreSQL URL. */
export interface PostgresServer {
  /** How logs and messages name it: `db1:5432`. */
  readonly name: string
  /** The whole address of the database on it, password included, for a driver that knows one server. */
  readonly url: string
}

/** The parts of a PostgreSQL URL, in the syntax of libpq. */
interface PostgresAddress {
  /** In their order, at least one. */
  readonly servers: readonly PostgresServer[]
  /** How long to wait for a connection to one of them. */
  readonly connectTimeoutMs: number
  /** How long to wait for a connection to any of them. */
  readonly connectTotalMs: number
  /** Whether their order is drawn. */
  readonly isShuffled: boolean
  /** The address for logs: without password and parameters. */
  readonly shown: string
}

// While one server is silent, another may take writes. A server alone, on a busy machine, gets all of the time.
const CONNECT_MS = 2_000
const CONNECT_TOTAL_MS = 5_000
const PORT_DEFAULT = 5_432
const PORT_MAX = 65_535

const URL_FORM = 'a PostgreSQL URL is postgres://user:password@host:port/database'

/** Scheme, the part before the path, the path, and parameters. */
const PARTS = /^(postgres(?:ql)?):\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i

// Ours to read; the driver gets the others.
const OWN_PARAMETERS = [
  'host',
  'port',
  'target_session_attrs',
  'load_balance_hosts',
  'connect_timeout',
]

interface Host {
  readonly host: string
  /** Null: none was given. */
  readonly port: string | null
}

/**
 * Reads a PostgreSQL URL, which may name several servers: `postgres://a:5432,b:5432/database`, or `?host=a,b&port=5432`.
 * Throws an Error that names the accepted forms, without the text of the URL, which has a password in it.
 */
export function readPostgresUrl(url: string): PostgresAddress {
  const [, scheme, authority = '', path = '', query = ''] = PARTS.exec(url) ?? []
  const parameters = new URLSearchParams(query)
  if (scheme === undefined || path.length < 2) throw new Error(URL_FORM)
  const at = authority.lastIndexOf('@')
  const userInfo = authority.slice(0, at + 1)
  const hosts = hostsOf(authority.slice(at + 1), parameters)
  checkTarget(parameters.get('target_session_attrs'))
  const isShuffled = readBalance(parameters.get('load_balance_hosts'))
  const givenMs = readTimeout(parameters.get('connect_timeout'))
  // A server that is silent leaves the others their time.
  const connectTotalMs = Math.max(CONNECT_TOTAL_MS, (givenMs ?? 0) * hosts.length)
  const connectTimeoutMs = givenMs ?? (hosts.length === 1 ? CONNECT_TOTAL_MS : CONNECT_MS)
  for (const name of OWN_PARAMETERS) parameters.delete(name)
  nameFullCheck(parameters)
  const servers = hosts.map(({ host, port }) => ({
    name: host.startsWith('/') ? host : `${host}:${port ?? PORT_DEFAULT}`,
    url: urlOf({ scheme, userInfo, path, parameters }, { host, port }),
  }))
  if (!servers.every((server) => URL.canParse(server.url))) throw new Error(URL_FORM)
  const [user = ''] = userInfo.split(/[:@]/)
  const shownHosts = hosts.map(({ host, port }) => (port === null ? host : `${host}:${port}`))
  const shown = `postgres://${user === '' ? '' : `${user}@`}${shownHosts.join(',')}${path}`
  return { servers, connectTimeoutMs, connectTotalMs, isShuffled, shown }
}

// The driver reads them as verify-full, and prints a page of warnings.
const WEAKER_MODES = ['prefer', 'require', 'verify-ca']

/** Names the check of the server's certificate as the driver does it. */
function nameFullCheck(parameters: URLSearchParams): void {
  if (parameters.get('uselibpqcompat') === 'true') return
  if (WEAKER_MODES.includes(parameters.get('sslmode') ?? '')) {
    parameters.set('sslmode', 'verify-full')
  }
}

/** By position: the parts that all servers share, and one server. */
function urlOf(
  {
    scheme,
    userInfo,
    path,
    parameters,
  }: Readonly<Record<'scheme' | 'userInfo' | 'path', string>> & {
    readonly parameters: URLSearchParams
  },
  { host, port }: Host,
): string {
  const own = new URLSearchParams(parameters)
  let place = port === null ? host : `${host}:${port}`
  if (host.startsWith('/')) {
    // A folder with the socket of a server of this machine.
    own.set('host', host)
    if (port !== null) own.set('port', port)
    place = 'localhost'
  }
  // Unlike in a form, a plus is not a space to the driver.
  const query = [...own].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
  return `${scheme}://${userInfo}${place}${path}${query === '' ? '' : `?${query}`}`
}

/** By position: the part before the path, and the parameters, which outrank it. */
function hostsOf(places: string, parameters: URLSearchParams): readonly Host[] {
  const given = parameters.get('host')
  const written = given === null ? places.split(',').map(placeOf) : given.split(',').map(hostAlone)
  const ports = parameters.get('port')?.split(',') ?? null
  const hosts = ports === null ? written : withPorts(written, ports)
  for (const { host, port } of hosts) {
    if (host === '' || (port !== null && !isPort(port))) throw new Error(URL_FORM)
  }
  return hosts
}

function hostAlone(host: string): Host {
  return { host: host.includes(':') && !host.startsWith('[') ? `[${host}]` : host, port: null }
}

function placeOf(place: string): Host {
  const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(place) ?? []
  const decoded = /^%2f/i.test(host) ? decodeURIComponent(host) : host
  return { host: decoded, port: port === undefined || port === '' ? null : port }
}

/** By position: hosts, and the ports that are given separately. */
function withPorts(hosts: readonly Host[], ports: readonly string[]): readonly Host[] {
  const [first = ''] = ports
  if (ports.length !== 1 && ports.length !== hosts.length) {
    throw new Error(
      `DATABASE_URL names ${hosts.length} hosts and ${ports.length} ports: give one port for all, or one for each`,
    )
  }
  return hosts.map(({ host }, place) => {
    const port = ports.length === 1 ? first : (ports[place] ?? '')
    return { host, port: port === '' ? null : port }
  })
}

function isPort(port: string): boolean {
  return /^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) <= PORT_MAX
}

// A gateway writes: all of these mean the server that takes writes.
const WRITING_TARGETS: readonly (string | null)[] = [null, '', 'read-write', 'primary', 'any']

function checkTarget(target: string | null): void {
  if (WRITING_TARGETS.includes(target)) return
  throw new Error(
    `target_session_attrs of DATABASE_URL is ${target}: the gateway needs a server that takes writes, so leave it out`,
  )
}

function readBalance(balance: string | null): boolean {
  if (balance === 'random') return true
  if (balance === null || balance === 'disable') return false
  throw new Error(`load_balance_hosts of DATABASE_URL is ${balance}: it must be random or disable`)
}

/** From seconds; null: not given. */
function readTimeout(seconds: string | null): number | null {
  if (seconds === null) return null
  if (/^[1-9]\d{0,3}$/.test(seconds)) return Number(seconds) * 1_000
  throw new Error(
    `connect_timeout of DATABASE_URL is ${seconds}: it must be a whole number of seconds, above 0`,
  )
}
