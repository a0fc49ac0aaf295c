import { useEffect } from 'react'

/**
 * Calls a function when a person comes back from another site by the browser's Back: it shows the page as it was
 * left, with a button that said that the other site opens.
 */
export function useCameBack(onBack: () => void): void {
  useEffect(() => {
    const onShow = ({ persisted }: PageTransitionEvent) => {
      if (persisted) onBack()
    }
    addEventListener('pageshow', onShow)
    return () => removeEventListener('pageshow', onShow)
  }, [onBack])
}
