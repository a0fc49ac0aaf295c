import type { MessagePort } from 'node:worker_threads'

/** By kind, what one side of a line asks and what the other answers. Both cross threads as clones. */
export type Questions = Readonly<
  Record<string, { readonly asked: unknown; readonly answer: unknown }>
>

/** What answers the questions of the other side, kind by kind. */
export type Answers<Asked extends Questions> = {
  readonly [Kind in keyof Asked]: (
    asked: Asked[Kind]['asked'],
  ) => Asked[Kind]['answer'] | Promise<Asked[Kind]['answer']>
}

type Question<Asked extends Questions, Kind extends keyof Asked = keyof Asked> = {
  readonly [Each in Kind]: {
    readonly of: 'question'
    /** Null: nobody waits for the answer. */
    readonly number: number | null
    readonly kind: Each
    readonly asked: Asked[Each]['asked']
  }
}[Kind]

type Reply<Asked extends Questions> =
  | {
      readonly of: 'answer'
      readonly number: number
      readonly answer: Asked[keyof Asked]['answer']
    }
  | { readonly of: 'failure'; readonly number: number; readonly message: string }

/** What comes over a line to the side that asks `Own` and answers `Others`. */
export type LineMessage<Own extends Questions, Others extends Questions> =
  | Question<Others>
  | Reply<Own>

interface Waiting<Answer> {
  resolve(answer: Answer): void
  reject(error: Error): void
}

export interface LineInput<Others extends Questions> {
  /** Sends a message to the other side. */
  readonly post: (message: unknown, transfer: readonly MessagePort[]) => void
  readonly answers: Answers<Others>
}

/** One side of what two threads ask and tell each other: `Own` are its own questions. */
export class Line<Own extends Questions, Others extends Questions> {
  readonly #input: LineInput<Others>
  readonly #waiting = new Map<number, Waiting<Own[keyof Own]['answer']>>()
  #number = 0

  constructor(input: LineInput<Others>) {
    this.#input = input
  }

  /** By position: what kind of question, and what it is about. Rejects where the other side failed or left. */
  ask<Kind extends keyof Own>(kind: Kind, asked: Own[Kind]['asked']): Promise<Own[Kind]['answer']> {
    const number = this.#number++
    return new Promise<Own[Kind]['answer']>((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject })
      this.#input.post({ of: 'question', number, kind, asked } satisfies Question<Own, Kind>, [])
    })
  }

  /** As {@link ask}, for what nobody waits for; ports among it are handed over. */
  tell<Kind extends keyof Own>(
    kind: Kind,
    asked: Own[Kind]['asked'],
    transfer: readonly MessagePort[] = [],
  ): void {
    const question: Question<Own, Kind> = { of: 'question', number: null, kind, asked }
    this.#input.post(question, transfer)
  }

  /** Takes what came from the other side. */
  received(message: LineMessage<Own, Others>): void {
    switch (message.of) {
      case 'question':
        void this.#answer(message)
        return
      case 'answer':
        this.#waiting.get(message.number)?.resolve(message.answer)
        this.#waiting.delete(message.number)
        return
      case 'failure':
        this.#waiting.get(message.number)?.reject(new Error(message.message))
        this.#waiting.delete(message.number)
        return
    }
  }

  /** Fails all that was asked: the other side is gone. */
  hangUp(): void {
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(new Error('the thread that was asked is gone'))
  }

  /** Never rejects. */
  async #answer<Kind extends keyof Others>(question: Question<Others, Kind>): Promise<void> {
    const { number, kind, asked } = question
    try {
      const answer = await this.#input.answers[kind](asked)
      if (number !== null) this.#input.post({ of: 'answer', number, answer }, [])
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      if (number !== null) this.#input.post({ of: 'failure', number, message }, [])
    }
  }
}
