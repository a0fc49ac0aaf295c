import type { MessagePort } from 'node:worker_threads'
import type { Attachment } from '../../store/threads/store-thread.ts'

// A writer that ends again and again is not to be started in a loop.
const ATTACH_AGAIN_MS = 250

/** What writes, as a `SqliteLedger` does. */
export interface Attachable {
  attach(): Attachment
}

/** A worker's way to the thread that writes a SQLite store, made anew where that thread ends. */
export class WriterLink {
  readonly #writer: Attachable
  #attachment: Attachment
  #timer: NodeJS.Timeout | undefined
  #gone = false

  constructor(writer: Attachable) {
    this.#writer = writer
    this.#attachment = writer.attach()
  }

  /** What the worker starts with. */
  get port(): MessagePort {
    return this.#attachment.port
  }

  /** Sends the worker another port each time that the writer has ended. */
  keep(send: (port: MessagePort) => void): void {
    void this.#attachment.detached.then(() => {
      if (this.#gone) return
      this.#timer = setTimeout(() => {
        this.#attachment = this.#writer.attach()
        send(this.#attachment.port)
        this.keep(send)
      }, ATTACH_AGAIN_MS)
    })
  }

  /** The worker is gone: resolves once nothing that it sent can be written any more. */
  async ended(): Promise<void> {
    this.#gone = true
    clearTimeout(this.#timer)
    await this.#attachment.detached
  }
}
