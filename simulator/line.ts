import type { ServerResponse } from 'node:http'
import type { CutManner } from './faults.ts'
import type { Ending } from './recorder.ts'

/** The connection to one client while it is answered; every wait on it ends when the client goes. */
export class Line {
  readonly response: ServerResponse
  #isClosed = false
  #isCut = false
  #beatMs: number | null = null
  #wake: (() => void) | null = null

  /** `onEnd` is called once, when the exchange is over. */
  constructor(response: ServerResponse, onEnd: (ending: Ending) => void) {
    this.response = response
    response.once('close', () => {
      this.#isClosed = true
      this.#wake?.()
      if (response.writableFinished) onEnd(this.#isCut ? 'cut' : 'finished')
      else onEnd(this.#isCut ? 'cut' : 'clientGone')
    })
    // A write to a client that went away fails by itself; the close event says all there is to say.
    response.on('error', () => {})
  }

  /** Whether a fault ended the exchange. */
  get isCut(): boolean {
    return this.#isCut
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Waits until `start` calls back, or the client goes. One wait at a time. */
  wait(start: (done: () => void) => void): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = resolve
      start(resolve)
    })
  }

  /** Lets other work run; with a figure, for so many milliseconds. */
  pause(ms: number | null): Promise<void> {
    return this.wait((done) => {
      if (ms === null || ms <= 0) setImmediate(done)
      else setTimeout(done, ms)
    })
  }

  /** Waits for the next beat of a steady pace, however late the last one was; null: lets others run. */
  beat(intervalMs: number | null): Promise<void> {
    if (intervalMs === null) return this.pause(null)
    const nowMs = performance.now()
    this.#beatMs = (this.#beatMs ?? nowMs) + intervalMs
    return this.pause(this.#beatMs - nowMs)
  }

  /** Writes to the body, waiting while the client takes nothing. */
  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.#isClosed || bytes.length === 0) return
    if (!this.response.write(bytes)) await this.wait((done) => this.response.once('drain', done))
  }

  /** Resolves when all that was written has left this process. */
  async flush(): Promise<void> {
    const { response } = this
    response.flushHeaders()
    const { socket } = response
    if (socket === null) return
    // Node corks the first write of an answer until the tick's end: a callback from here runs after it.
    await this.pause(null)
    await this.wait((done) => socket.write('', () => done()))
  }

  /** Ends the exchange before its time. */
  async cut(how: CutManner): Promise<void> {
    this.#isCut = true
    const { socket } = this.response
    switch (how) {
      case 'reset':
        socket?.resetAndDestroy()
        return
      case 'close':
        socket?.destroy()
        return
      case 'end':
        this.response.end()
        return
    }
  }
}
