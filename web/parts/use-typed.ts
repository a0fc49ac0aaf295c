import { useState } from 'react'
import { useUnsaved } from './unsaved.ts'

/**
 * The texts of a form that stays open: what was typed, and in the other fields what the server has now. A save then sends only
 * what was typed, and undoes no change that another person has made meanwhile.
 */
export function useTyped<Texts extends object>(current: Texts) {
  const [typed, setTyped] = useState<Partial<Texts>>({})
  const texts = { ...current, ...typed }
  const isChanged = Object.entries(texts).some(
    ([name, text]) => text !== Reflect.get(current, name),
  )
  useUnsaved(isChanged)
  return {
    texts,
    /** Whether a save would change something: a typed text differs from that of the server. */
    isChanged,
    type: <Name extends keyof Texts>(name: Name, text: Texts[Name]) =>
      setTyped((before) => ({ ...before, [name]: text })),
    /** Called once the texts were saved: what was typed since then stays. */
    forget: () => setTyped((now) => (now === typed ? {} : now)),
  }
}
