/** What goes to a store thread: a job, numbered so that its answer finds its caller. */
export interface ThreadRequest<Job> {
  readonly number: number
  readonly job: Job
}

/** Ends a store thread: it closes what it has open and sends nothing more. */
export interface ThreadClosing {
  readonly closing: true
}

/** What comes back from a store thread. */
export type ThreadReply<Answer> =
  | { readonly number: number; readonly kind: 'answer'; readonly answer: Answer }
  | { readonly number: number; readonly kind: 'failure'; readonly failure: ThreadFailure }

/** An error as it crosses threads: `unavailable` where the store as a whole failed. */
export interface ThreadFailure {
  readonly unavailable: boolean
  readonly message: string
}
