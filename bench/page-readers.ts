const POLL_MS = 2_000

interface PageReadersInput {
  readonly address: string
  readonly adminToken: string
  readonly readers: number
}

/** Pages that are open: each asks for the newest requests every two seconds, as long as they differ. */
export class PageReaders {
  readonly #input: PageReadersInput
  readonly #failures: string[] = []
  readonly #stopping = new AbortController()
  #reading: readonly Promise<void>[] = []

  constructor(input: PageReadersInput) {
    this.#input = input
  }

  start(): void {
    this.#reading = Array.from({ length: this.#input.readers }, () => this.#read())
  }

  /** Resolves with the faults. */
  async stop(): Promise<readonly string[]> {
    this.#stopping.abort()
    await Promise.all(this.#reading)
    return this.#failures
  }

  async #read(): Promise<void> {
    const { address, adminToken } = this.#input
    while (!this.#stopping.signal.aborted) {
      const response = await fetch(`${address}/v1/admin/requests?limit=50`, {
        headers: { authorization: `Bearer ${adminToken}` },
      })
      await response.text()
      if (!response.ok) this.#failures.push(`a page was answered ${response.status}`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS)
        this.#stopping.signal.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }
}
