import { type ReactNode, use, useState } from 'react'
import { isServerThere } from '../api/client.ts'
import { Away, OldPage } from '../parts/states.tsx'
import { hasUnsaved } from '../parts/unsaved.ts'

type Load = () => Promise<Readonly<Record<string, unknown>>>
type Component = () => ReactNode

const preloads: (() => Promise<void>)[] = []

/**
 * A screen whose script is loaded when it is first opened. Until the script is there, the page says in its place that
 * the server cannot be reached, and tries again.
 */
export function lazyScreen(load: Load, name: string): Component & { preload(): Promise<void> } {
  let Screen: Component | undefined
  let loading: Promise<void> | undefined
  let isAway = false
  const preload = () => {
    loading ??= load().then(
      (module) => {
        Screen = module[name] as Component
      },
      () => {
        isAway = true
        loading = undefined
      },
    )
    return loading
  }
  // biome-ignore lint/correctness/noComponentHookFactories: called once for each screen, when the module is read
  function LazyScreen(): ReactNode {
    const [, setTries] = useState(0)
    const [isOld, setOld] = useState(false)
    if (Screen !== undefined) return <Screen />
    if (isAway) {
      const retry = async () => {
        await preload()
        setTries((tries) => tries + 1)
        // The server answers and has no such script: it serves a newer page, which is loaded whole.
        if (Screen !== undefined || !(await isServerThere())) return
        if (hasUnsaved()) setOld(true)
        else location.reload()
      }
      return (
        <section className="card">
          {isOld ? <OldPage /> : <Away onRetry={() => void retry()} />}
        </section>
      )
    }
    use(preload())
    return null
  }
  preloads.push(preload)
  LazyScreen.preload = preload
  return LazyScreen
}

let isPreloading = false

/** Loads the scripts of the other screens, one after the other, while the browser has nothing to do. */
export function preloadScreens(): void {
  if (isPreloading) return
  isPreloading = true
  const idle = window.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 200))
  const next = () => {
    const preload = preloads.pop()
    if (preload !== undefined) idle(() => void preload().then(next))
  }
  idle(next)
}
