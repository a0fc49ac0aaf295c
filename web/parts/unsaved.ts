import { useEffect } from 'react'

type Check = () => boolean

const checks = new Set<Check>()

/** Whether something on the page would be lost if another page were opened, such as typed text. */
export function hasUnsaved(): boolean {
  return [...checks].some((check) => check())
}

/** Adds something that may be lost, for as long as the page is open. */
export function addUnsavedCheck(check: Check): () => void {
  checks.add(check)
  return () => checks.delete(check)
}

/** Says that this component has something that would be lost. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => addUnsavedCheck(() => isUnsaved), [isUnsaved])
}
