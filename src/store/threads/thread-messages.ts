import type { MessagePort } from 'node:worker_threads'

/** What goes to a store thread: a job, numbered so that its answer finds its caller. */
export interface ThreadRequest<Job> {
  readonly number: number
  readonly job: Job
}

/** Lets another thread send its jobs straight to the store thread. */
export interface ThreadAttachment {
  readonly number: number
  readonly attach: MessagePort
}

/** Ends a store thread: it closes what it has open and sends nothing more. */
export interface ThreadClosing {
  readonly closing: true
}

/** What comes back from a store thread. */
export type ThreadReply<Answer> =
  | { readonly number: number; readonly kind: 'answer'; readonly answer: Answer }
  | { readonly number: number; readonly kind: 'failure'; readonly failure: ThreadFailure }

/** Says that an attached thread has left, or has ended, and that all it ever sent has been answered. */
export interface ThreadDetached {
  readonly number: number
  readonly kind: 'detached'
}

/** An error as it crosses threads: `unavailable` where the store as a whole failed. */
export interface ThreadFailure {
  readonly unavailable: boolean
  readonly message: string
}
