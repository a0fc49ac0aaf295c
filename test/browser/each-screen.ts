import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import {
  changeTheme,
  expectFits,
  expectGoodPage,
  expectReachable,
  expectReadable,
  expectUsable,
  FAILED_LOAD,
  resize,
  takePicture,
} from './chromium.ts'
import { test } from './page-test.ts'
import type { StandIn, StandInAnswer } from './stand-in.ts'

/** A screen in one of its states. */
export interface Screen {
  readonly name: string
  /** Below `/app/`. */
  readonly path: string
  /** Sets the answers of the server, before the page is opened. */
  readonly before?: (server: StandIn) => void
  /** The steps of a person then. */
  readonly act?: (page: Page, server: StandIn) => Promise<void>
  /** A text that is seen in the end. */
  readonly text: string | RegExp
}

/** A person presses the buttons of these names, one after the other. */
export function press(...names: readonly string[]) {
  return async (page: Page) => {
    for (const name of names) await page.getByRole('button', { name }).click()
  }
}

/** A state that an answer causes: its name, the answer, and the visible result. */
type AnsweredState = readonly [name: string, answer: StandInAnswer, text: string | RegExp]

/** The states of a page that what the server answers at one path makes. While it is silent there are grey rows. */
export function answeredScreens(
  { path, pathEnd }: { readonly path: string; readonly pathEnd: string },
  states: readonly AnsweredState[],
): readonly Screen[] {
  return states.map(([name, answer, text]) => ({
    ...{ name, path, text },
    before: (server) => server.answer(pathEnd, answer),
    ...(answer.kind === 'silence' && {
      act: (page: Page) => page.locator('.grey').first().waitFor(),
    }),
  }))
}

/**
 * Tests screens in both themes, on a desk, a laptop, a tablet and a phone of 360 pixels, and takes their pictures where
 * these are asked for. A desk that is made narrower, or dark, has the same elements: what may differ then is looked at
 * again. The colours of a phone are those of a desk but for its bars: the first state of each path shows them.
 */
export function testScreens(screens: readonly Screen[]): void {
  const byPath = Map.groupBy(screens, ({ path }) => path.split(/[?#]/)[0])
  const firsts = new Set([...byPath.values()].map(([first]) => first))
  describe.each(['desk', 'phone'] as const)('%s', (width) => {
    test.for(screens)(
      '$name can be used by everybody and fits its window',
      async (screen, { pages, server }) => {
        const { name, path, before, act, text } = screen
        const hasOwnColors = width === 'desk' || firsts.has(screen)
        const { page, complaints } = await pages.of(width)
        before?.(server)
        await page.goto(`${server.address}/app/${path}`)
        await act?.(page, server)
        await page.getByText(text).filter({ visible: true }).first().waitFor()
        await takePicture(page, `${name}-${width}-light`)
        if (hasOwnColors) await expectGoodPage(page)
        else await expectUsable(page)
        await expectFits(page)
        await changeTheme(page, 'dark')
        await takePicture(page, `${name}-${width}-dark`)
        if (hasOwnColors) await expectReadable(page)
        if (width === 'desk') {
          await changeTheme(page, 'light')
          for (const narrower of ['laptop', 'tablet'] as const) {
            await resize(page, narrower)
            await takePicture(page, `${name}-${narrower}-light`)
            await expectReachable(page)
            await expectFits(page)
          }
        }
        // Its prices are the provider's.
        expect(server.asked.filter((asked) => asked.includes('/v1/models'))).toEqual([])
        const onPurpose = server.refused.map((path) => `${FAILED_LOAD}${path}`)
        expect(complaints.filter((text) => !onPurpose.includes(text))).toEqual([])
      },
    )
  })
}
