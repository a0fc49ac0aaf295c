import { useState } from 'react'
import { useUnsaved } from './unsaved.ts'

/**
 * The texts of a form that stays open: what was typed, and in the other fields what the server has now. A save then sends only
 * what was typed, and undoes no change that another person has made meanwhile.
 */
export function useTyped<Texts extends object>(current: Texts) {
  const [typed, setTyped] = useState<Partial<Texts>>({})
  useUnsaved(Object.keys(typed).length > 0)
  return {
    texts: { ...current, ...typed },
    type: <Name extends keyof Texts>(name: Name, text: Texts[Name]) =>
      setTyped((before) => ({ ...before, [name]: text })),
    /** Called once the texts were saved: what was typed since then stays. */
    forget: () => setTyped((now) => (now === typed ? {} : now)),
  }
}
