import { type RefCallback, useCallback, useState } from 'react'

/** The current width of an element in pixels. It is known before the element is first painted, and 0 until then. */
export function useWidth(): readonly [ref: RefCallback<HTMLElement>, widthPx: number] {
  const [widthPx, setWidthPx] = useState(0)
  const ref = useCallback((element: HTMLElement | null) => {
    if (element === null) return
    // An observer is called after the first paint, which would show a chart without a width.
    setWidthPx(element.clientWidth)
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidthPx(Math.floor(entry.contentRect.width))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, widthPx]
}
