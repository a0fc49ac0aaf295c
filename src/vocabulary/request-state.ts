/**
 * Where the hold of a request stands.
 *
 * `open → provisional → final`, `open → final`, `open → released`,
 * `open → unresolved → provisional | final | released`. Each move happens once.
 */
export type RequestState = (typeof REQUEST_STATES)[number]

/** Every state, in the order that a request can pass through them. */
export const REQUEST_STATES = ['open', 'unresolved', 'provisional', 'final', 'released'] as const

/** Whether nothing more will become of the hold. */
export function isSettled(state: RequestState): state is 'final' | 'released' {
  return state === 'final' || state === 'released'
}
