import type { Answer } from './load-connection.ts'

/** The expected answer. */
export interface Expected {
  /** Its body, as {@link normalize} leaves it. */
  readonly body: string
}

const EXAMPLES_MAX = 10

/** Checks every answer of one target, and remembers the faults. */
export class Witness {
  readonly name: string
  /** Whether answers carry a request id, which is then never given twice. */
  readonly #givesRequestIds: boolean
  readonly #bodies: 'exact' | 'any'
  readonly #requestIds = new Set<string>()
  readonly #examples: string[] = []
  #failures = 0
  #answers = 0
  #chargedMicros = 0

  constructor({
    name,
    givesRequestIds,
    bodies = 'exact',
  }: {
    readonly name: string
    readonly givesRequestIds: boolean
    /** `exact`: a body is the provider's own. Default `exact`. */
    readonly bodies?: 'exact' | 'any'
  }) {
    this.name = name
    this.#bodies = bodies
    this.#givesRequestIds = givesRequestIds
  }

  /** How many answers were as they should be. */
  get answers(): number {
    return this.#answers
  }

  /** The sum of the charges that answers reported. Streams report none. */
  get chargedMicros(): number {
    return this.#chargedMicros
  }

  /** The failures; of many, only the first in full. Empty: none. */
  get failures(): readonly string[] {
    const rest = this.#failures - this.#examples.length
    const lines = rest > 0 ? [...this.#examples, `and ${rest} more`] : this.#examples
    return lines.map((line) => `${this.name}: ${line}`)
  }

  /** Notes something that went wrong. */
  failed(message: string): void {
    this.#failures += 1
    if (this.#examples.length < EXAMPLES_MAX) this.#examples.push(message)
  }

  /** Checks an answer whose body is known. */
  check(answer: Answer, expected: Expected): void {
    const body = answer.body.toString()
    if (answer.httpStatus !== 200) {
      this.failed(`answered ${answer.httpStatus}: ${body.slice(0, 200)}`)
      return
    }
    if (this.#bodies === 'exact' && normalize(body) !== expected.body) {
      this.failed(`answered ${body.length} characters that are not the provider's`)
      return
    }
    const fault = this.#idFault(answer)
    if (fault !== null) {
      this.failed(fault)
      return
    }
    this.#answers += 1
    this.#chargedMicros += Number(answer.headers.get('x-service-cost') ?? 0)
  }

  #idFault({ headers }: Answer): string | null {
    if (!this.#givesRequestIds) return null
    const requestId = headers.get('x-request-id') ?? ''
    if (!requestId.startsWith('req_')) return `no request id, but "${requestId}"`
    if (this.#requestIds.has(requestId)) return `${requestId} was given twice`
    this.#requestIds.add(requestId)
    return null
  }
}

/**
 * An answer without the parts that differ from one to the next: the generation's id and its second, and without the
 * words of comments in a stream, which a gateway need not relay.
 */
export function normalize(body: string): string {
  return body
    .replace(/gen-\d+-\w+/g, 'gen')
    .replace(/"created":\d+/g, '"created":0')
    .replace(/^:.*$/gm, ':')
}
