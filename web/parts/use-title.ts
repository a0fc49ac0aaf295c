import { useEffect } from 'react'
import { useServiceName } from './service-name.tsx'

/** The title of the window while a page is shown. */
export function useTitle(title: string): void {
  const service = useServiceName()
  useEffect(() => {
    document.title = `${title} · ${service}`
  }, [title, service])
}
