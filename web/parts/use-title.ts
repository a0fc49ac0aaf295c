import { useEffect } from 'react'
import { useServiceName } from './service-name.tsx'

/** The title of the window while a page is shown; null: another part of the page sets it. */
export function useTitle(title: string | null): void {
  const service = useServiceName()
  useEffect(() => {
    if (title !== null) document.title = `${title} · ${service}`
  }, [title, service])
}
