import type { Page } from 'playwright-core'
import { hasLinkLikeText } from './links.ts'
import { isHardToReach } from './reach.ts'
import { isHardToRead } from './read.ts'
import { hasStrayText, STRAY_HELPERS } from './stray.ts'

/** Quick looks at a page, each a function that runs in it. */
const LOOKS = { settled, misfits, isHardToReach, isHardToRead, hasLinkLikeText, hasStrayText }

type Looks = typeof LOOKS

/** Takes quick looks at a page, one after the other, in one message: a message costs more than most of them. */
export function lookAt<Name extends keyof Looks>(
  page: Page,
  ...names: readonly Name[]
): Promise<{ readonly [Each in Name]: Awaited<ReturnType<Looks[Each]>> }> {
  const looks = names.map((name) => `${name}: await (${LOOKS[name]})()`)
  return page.evaluate(
    `(async () => { ${STRAY_HELPERS.join('\n')}\nreturn { ${looks.join(', ')} } })()`,
  )
}

/** Waits until the page has moved what depends on its size. */
function settled(): Promise<void> {
  return new Promise((resolve) =>
    requestAnimationFrame(() => requestAnimationFrame(() => resolve())),
  )
}

/** By how many pixels the page is wider than the window, and the cards that are narrower than what they show. */
function misfits(): { readonly over: number; readonly cut: readonly string[] } {
  return {
    over: document.documentElement.scrollWidth - innerWidth,
    cut: [...document.querySelectorAll('.card')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map((card) => card.getAttribute('aria-label') ?? card.className),
  }
}
