import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import {
  changeTheme,
  expectFitsIn,
  expectGoodPage,
  expectReadable,
  expectUsable,
  FAILED_LOAD,
  resize,
  TAKES_PICTURES,
  takePicture,
} from './chromium.ts'
import { test } from './page-test.ts'
import { PIXELS_MIN, smallOrUnreadable } from './small-targets.ts'
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
  /** Whether grey rows stand for what is being read. Default: no. */
  readonly isGrey?: boolean
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
    isGrey: answer.kind === 'silence',
  }))
}

/**
 * Tests screens in both themes, on a desk, a laptop, tablets and a phone of 360 pixels, and takes their pictures where
 * these are asked for. A desk that is made narrower, or dark, has the same elements: what may differ then is looked at
 * again. The colours of a phone are those of a desk but for its bars: the first state of each path shows them. That one
 * is opened on a phone, and so is each in which a person does something: menus and drawers open otherwise there.
 */
export function testScreens(screens: readonly Screen[]): void {
  const byPath = Map.groupBy(screens, ({ path }) => path.split(/[?#]/)[0])
  const firsts = new Set([...byPath.values()].map(([first]) => first))
  const ofPhone = new Set(
    screens.filter((one) => TAKES_PICTURES || firsts.has(one) || one.act !== undefined),
  )
  describe('desk', () => {
    test.for(screens)(
      '$name can be used by everybody and fits its window',
      async (screen, { pages, server }) => {
        const { name } = screen
        const { page, complaints } = await pages.of('desk')
        await open(screen, { page, server })
        await takePicture(page, `${name}-desk-light`)
        await expectGoodPage(page)
        expect(await smallOrUnreadable(page, PIXELS_MIN.desk)).toEqual([])
        await changeTheme(page, 'dark')
        await takePicture(page, `${name}-desk-dark`)
        await expectReadable(page)
        if (TAKES_PICTURES) await changeTheme(page, 'light')
        for (const narrower of ['laptop', 'tablet', 'small'] as const) {
          await expectFitsIn(page, narrower)
          await takePicture(page, `${name}-${narrower}-light`)
        }
        if (!ofPhone.has(screen)) {
          await resize(page, 'phone')
          await expectSeen(screen, page)
          await expectUsable(page)
          expect(await smallOrUnreadable(page, PIXELS_MIN.phone)).toEqual([])
        }
        expectQuiet(server, complaints)
      },
    )
  })
  describe('phone', () => {
    test.for([...ofPhone])(
      '$name can be used by everybody and fits its window',
      async (screen, { pages, server }) => {
        const { name } = screen
        const { page, complaints } = await pages.of('phone')
        await open(screen, { page, server })
        await takePicture(page, `${name}-phone-light`)
        if (firsts.has(screen)) await expectGoodPage(page)
        else await expectUsable(page)
        expect(await smallOrUnreadable(page, PIXELS_MIN.phone)).toEqual([])
        if (firsts.has(screen) || TAKES_PICTURES) await changeTheme(page, 'dark')
        await takePicture(page, `${name}-phone-dark`)
        if (firsts.has(screen)) await expectReadable(page)
        expectQuiet(server, complaints)
      },
    )
  })
}

interface Opened {
  readonly page: Page
  readonly server: StandIn
}

/** Opens a page in a state, up to what is seen in the end. */
async function open(screen: Screen, { page, server }: Opened): Promise<void> {
  screen.before?.(server)
  await page.goto(`${server.address}/app/${screen.path}`)
  await screen.act?.(page, server)
  await expectSeen(screen, page)
}

async function expectSeen({ text, isGrey = false }: Screen, page: Page): Promise<void> {
  if (isGrey) await page.locator('.grey').filter({ visible: true }).first().waitFor()
  await page.getByText(text).filter({ visible: true }).first().waitFor()
}

/** The page asked for no prices of the provider, and complained of nothing but what was refused on purpose. */
function expectQuiet({ asked, refused }: StandIn, complaints: readonly string[]): void {
  expect(asked.filter((one) => one.includes('/v1/models'))).toEqual([])
  const onPurpose = refused.map((path) => `${FAILED_LOAD}${path}`)
  expect(complaints.filter((text) => !onPurpose.includes(text))).toEqual([])
}
