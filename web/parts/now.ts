import { useSyncExternalStore } from 'react'
import { currentMs } from '../api/clock.ts'

const TICK_MS = 1_000

const listeners = new Set<() => void>()
let nowMs = currentMs()
let timer: ReturnType<typeof setInterval> | undefined

/** The time now, once a second while something that is shown depends on it. */
export function useNow(): Date {
  return new Date(useSyncExternalStore(subscribe, () => nowMs))
}

/** A text that depends on the time now; only a new text is drawn. */
export function useTextNow(textAt: (now: Date) => string): string {
  return useSyncExternalStore(subscribe, () => textAt(new Date(nowMs)))
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) {
    timer = setInterval(tick, TICK_MS)
    tick()
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function tick(): void {
  nowMs = currentMs()
  for (const listener of listeners) listener()
}
