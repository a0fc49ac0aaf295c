import { onForget } from '../api/client.ts'
import { createStore } from './store.ts'

const ended = createStore(false)

onForget(() => ended.set(false))

/** Says that the session of this browser has ended, or that there is one again. */
export const setSessionEnded = ended.set

/** Whether the session has ended while a person was at work here. */
export const useSessionEnded = ended.useValue
