import { type MouseEvent, type PointerEvent, useEffect, useRef, useState } from 'react'

interface ShownStepInput {
  /** The index of the step at a place, in pixels from the left of the chart; null: there is none. */
  readonly stepAt: (x: number) => number | null
  readonly onOpen: ((at: number, groupId: string | null) => void) | undefined
}

/**
 * The step whose figures are shown: the one below the pointer. A finger can't hover, so its first tap shows the figures
 * until another place is tapped, and a second tap opens the step.
 */
export function useShownStep({ stepAt, onOpen }: ShownStepInput) {
  const [shown, show] = useState<number | null>(null)
  const isFirstTap = useRef(false)
  useEffect(() => {
    if (shown === null) return
    const leave = ({ target }: Event) => {
      if (!(target instanceof Element) || target.closest('.columns') === null) show(null)
    }
    document.addEventListener('pointerdown', leave)
    return () => document.removeEventListener('pointerdown', leave)
  }, [shown])
  const pointedAt = (event: PointerEvent<SVGSVGElement>) =>
    stepAt(event.clientX - event.currentTarget.getBoundingClientRect().left)
  return {
    shown,
    show,
    pointing: {
      onPointerMove: (event: PointerEvent<SVGSVGElement>) => show(pointedAt(event)),
      onPointerDown(event: PointerEvent<SVGSVGElement>) {
        const at = pointedAt(event)
        isFirstTap.current = event.pointerType === 'touch' && at !== shown
        show(at)
      },
      onPointerLeave(event: PointerEvent<SVGSVGElement>) {
        if (event.pointerType !== 'touch') show(null)
      },
      onClick(event: MouseEvent<SVGSVGElement>) {
        const group = (event.target as Element).getAttribute('data-group')
        if (shown !== null && !isFirstTap.current) onOpen?.(shown, group)
      },
    },
  }
}
