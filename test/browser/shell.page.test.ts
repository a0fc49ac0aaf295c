import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { changeTheme, expectGoodPage, takePicture } from './chromium.ts'
import { answeredScreens, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json, silent } from './stand-in.ts'
import { at, HELIX, KEYS, listOf, ME, WITH_MAIL } from './stand-in-data.ts'
import { ACCOUNTS } from './stand-in-operator.ts'
import { HELD } from './stand-in-sale.ts'

/** The parts around every screen: addresses, the switcher, the palette, and a server that is away. */

const OTHER = ACCOUNTS[1]

const SCREENS: readonly Screen[] = [
  { name: 'unknown-page', path: at('nothing'), text: 'Check the address, or choose a section.' },
  {
    name: 'unknown-operator-page',
    path: 'operator/nothing/at-all',
    text: 'Check the address, or choose a section.',
  },
  {
    name: 'palette',
    path: at('keys'),
    async act(page) {
      await page.getByText('nightly evals').waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('ni')
    },
    text: 'nightly evals',
  },
  {
    name: 'palette-none',
    path: at('keys'),
    before: (server) => server.answer('/operator/accounts', json(EMPTY)),
    async act(page) {
      await page.getByText('nightly evals').waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('zzzz')
    },
    text: 'No match. Search by name, email or ID.',
  },
  ...answeredScreens({ path: `${OTHER?.id}/overview`, pathEnd: `/accounts/${OTHER?.id}` }, [
    ['viewing-as-member', json(OTHER), 'as its members see it'],
  ]),
]

testScreens(SCREENS)

test('on a phone, a title of several words has one line', async ({ pages, server }) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/app/operator/usage`)
  const title = await page.getByRole('heading', { level: 1 }).boundingBox()
  expect(title?.height).toBe(28)
})

test('on a phone, the figures of an upstream are named', async ({ pages, server }) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/app/operator/upstreams`)
  await page.getByText('13% failed').waitFor()
  await page.getByText('none failed').first().waitFor()
})

test('no letter after Ctrl and K is lost', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByText('nightly evals').waitFor()
  const focused = await page.evaluate(async () => {
    document.body.dispatchEvent(
      new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }),
    )
    await Promise.resolve() // Only what the key left to be done in the same turn.
    return document.activeElement?.role
  })
  expect(focused).toBe('combobox')
})

describe('addresses', () => {
  test.for([
    [at('operator/accounts'), '/app/operator/accounts'],
    [at(`operator/accounts/${HELIX.id}`), `/app/operator/accounts/${HELIX.id}`],
    [at('operator/to-settle'), '/app/operator/unsettled'],
    [at('operator/purchases?list=all'), '/app/operator/purchases?list=all'],
    [at('profile'), '/app/profile'],
  ])('%s of 0.2.0 leads to where the page is now', async ([from, to], { page, server }) => {
    await page.goto(`${server.address}/app/${from}`)
    await page.waitForURL(`${server.address}${to}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
  })

  test('the pages of operators belong to no account', async ({ page, server }) => {
    await page.goto(`${server.address}/app/operator/accounts`)
    await page.getByText('Night Shift').first().waitFor()
    await page.getByRole('link', { name: 'Audit log' }).click()
    await page.waitForURL(`${server.address}/app/operator/audit-log`)
    expect(await page.locator('.acct b').textContent()).toBe('Operator')
  })

  test('a page of operators leads anyone else to their own account', async ({ page, server }) => {
    server.answer('/me', json({ ...ME, user: { ...ME.user, is_operator: false } }))
    await page.goto(`${server.address}/app/operator/accounts`)
    await page.waitForURL(`${server.address}/app/${at('overview')}**`)
  })

  test('signed out, an address is kept, and the browser logs no refusal', async ({
    ownPage: page,
    server,
  }) => {
    const refused: string[] = []
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(response.url())
    })
    server.answer('/start', json({ ...WITH_MAIL, signed_in: false }))
    server.answer('/me', { ...down, httpStatus: 401 })
    await page.goto(`${server.address}/app/operator/unsettled`)
    await page.getByLabel('Password').waitFor()
    await page.waitForURL((url) => url.search === '?next=%2Foperator%2Funsettled')
    expect(refused).toEqual([])
  })

  test('an account that does not exist has no page', async ({ page, server }) => {
    await page.goto(`${server.address}/app/acct_none/overview`)
    await page.getByText('Account not found').waitFor()
    await page.getByRole('link', { name: 'Keys' }).waitFor()
  })
})

describe('the switcher', () => {
  test('leads an operator to its own pages and back', async ({ page, server }) => {
    await page.goto(`${server.address}/app/${at('keys')}`)
    await page.getByRole('button', { name: 'Helix Lab' }).click()
    await page.getByRole('link', { name: 'Operator' }).click()
    await page.waitForURL(`${server.address}/app/operator`)
  })

  test('has a search from eight accounts on', async ({ page, server }) => {
    const accounts = Array.from({ length: 8 }, (_, place) => ({
      ...(ME.accounts[0] as (typeof ME.accounts)[number]),
      id: place === 0 ? HELIX.id : `acct_${place}`,
      name: place === 0 ? 'Helix Lab' : `Team ${place}`,
    }))
    server.answer('/me', json({ ...ME, accounts }))
    await page.goto(`${server.address}/app/${at('keys')}`)
    await page.getByRole('button', { name: 'Helix Lab' }).click()
    await page.getByLabel('Search accounts').fill('team 5')
    expect(await page.locator('[popover] a').allTextContents()).toEqual(['T5Team 5'])
  })
})

test('the arrow keys move through a menu, and Esc returns the focus', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${at('keys')}`)
  const opener = page.getByRole('button', { name: 'Mira Okafor' })
  await opener.press('Enter')
  const focused = () => page.evaluate(() => document.activeElement?.textContent)
  await expect.poll(focused).toBe('Profile')
  await page.keyboard.press('ArrowDown')
  expect(await focused()).toBe('Light')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  expect(await focused()).toBe('Sign out')
  await page.keyboard.press('Escape')
  await expect.poll(() => opener.evaluate((it) => it === document.activeElement)).toBe(true)
})

describe('the palette', () => {
  const openPalette = async (page: Page, address: string, path = at('keys')) => {
    await page.goto(`${address}/app/${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    return page.getByRole('combobox')
  }

  test('opens a section with the keyboard alone, and returns the focus', async ({
    page,
    server,
  }) => {
    const field = await openPalette(page, server.address)
    await field.fill('playgr')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.address}/app/${at('playground')}`)
  })

  test.for([
    [at('keys'), `/app/${at('members')}`],
    [`operator/accounts/${HELIX.id}`, `/app/operator/accounts/${HELIX.id}/members`],
  ] as const)('invites a member of the account of %s', async ([path, form], { page, server }) => {
    const field = await openPalette(page, server.address, path)
    await field.fill('invite')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.address}${form}?invite=true`)
    await page.getByRole('dialog', { name: 'Invite a person' }).waitFor()
  })

  test('lists nothing where no name has the letters', async ({ page, server }) => {
    server.answer('/operator/accounts', json(EMPTY))
    const field = await openPalette(page, server.address)
    await field.fill('undef')
    await page.getByText('No match. Search by name, email or ID.').waitFor()
  })

  test('opens a request by its ID', async ({ page, server }) => {
    const field = await openPalette(page, server.address)
    await field.fill('req_01kbh2x9q4e7m0v6rt3z8yc001')
    await page.keyboard.press('Enter')
    await page.waitForURL(/activity\?range=all&request=req_01kbh2x9q4e7m0v6rt3z8yc001/)
  })

  test('finds any account for an operator, and Esc closes it', async ({ page, server }) => {
    const field = await openPalette(page, server.address)
    await field.fill('fjord')
    await page.getByRole('option', { name: 'Fjord Analytics' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('combobox').waitFor({ state: 'detached' })
  })

  test('finds models, and the requests of a key by its ID, on the pages of operators', async ({
    page,
    server,
  }) => {
    const keyId = KEYS[0]?.id ?? ''
    for (const [text, entry, address] of [
      ['gpt-6', 'openai/gpt-6-mini', /operator\/models\?model=openai/],
      [keyId, 'Requests of the key', new RegExp(`operator/activity\\?range=30d&key=.*${keyId}`)],
    ] as const) {
      const field = await openPalette(page, server.address, 'operator')
      await field.fill(text)
      await page.getByRole('option', { name: entry }).click()
      await page.waitForURL(address)
    }
  })

  test('finds keys of all accounts by a part of their name, on the pages of operators', async ({
    page,
    server,
  }) => {
    const [key] = KEYS
    const found = { ...key, object: 'found_key', account_name: HELIX.name }
    server.answer('/operator/keys', json(listOf([found])))
    const field = await openPalette(page, server.address, 'operator')
    await field.fill('agents')
    await page.getByRole('option', { name: 'coding agents Key of Helix Lab' }).click()
    await page.waitForURL(new RegExp(`activity\\?range=30d&account=${HELIX.id}&key=.*${key?.id}`))
    expect(server.asked.some((asked) => asked.includes('operator/keys?search=agents'))).toBe(true)
  })

  test.for([
    ['credited', 'Receipt', `operator/accounts/${HELIX.id}/credit?receipt=`],
    ['held', 'Purchase on hold', 'operator/purchases'],
    ['dismissed', 'Purchase', 'operator/purchases?list=all'],
  ])(
    'opens a purchase that is %s by its ID, on the pages of operators',
    async ([state, note, address], { page, server }) => {
      const [purchase] = HELD
      const id = purchase?.id ?? ''
      server.answer(`/operator/purchases/${id}`, json({ ...purchase, account_id: HELIX.id, state }))
      const field = await openPalette(page, server.address, 'operator')
      await field.fill(id)
      await page.getByRole('option', { name: `${id} ${note}` }).click()
      await page.waitForURL(`${server.address}/app/${address}${state === 'credited' ? id : ''}`)
    },
  )

  test('says that it searches until every answer is there', async ({ page, server }) => {
    server.answer('/operator/accounts', silent)
    const field = await openPalette(page, server.address)
    await field.fill('zzzz')
    await page.getByText('Searching…').waitFor()
    server.answer('/operator/accounts', json(EMPTY))
    await field.fill('zzzzz')
    await page.getByText('No match. Search by name, email or ID.').waitFor()
  })

  test('finds a key by the beginning of its ID', async ({ page, server }) => {
    const [key] = KEYS
    const field = await openPalette(page, server.address)
    await field.fill(key?.id.slice(0, -2) ?? '')
    await page.getByRole('option', { name: key?.name ?? '' }).waitFor()
  })
})

describe('a server that is away', () => {
  test('leaves the navigation, and the section opens as soon as it answers', async ({
    ownPage: page,
    server,
  }) => {
    server.answer('/members', json(EMPTY))
    let isAway = true
    await page.route('**/*', (route) =>
      isAway && route.request().url().includes('/assets/members')
        ? route.abort()
        : route.fallback(),
    )
    await page.route('**/accounts/*/members', (route) =>
      isAway ? route.abort() : route.fallback(),
    )
    await page.goto(`${server.address}/app/${at('keys')}`)
    await page.getByText('nightly evals').waitFor()
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByText('tollgate cannot be reached.').waitFor()
    await page.waitForURL(`${server.address}/app/${at('members')}`)
    await page.getByRole('link', { name: 'Keys' }).waitFor()
    isAway = false
    await page.getByRole('heading', { name: 'Members', level: 1 }).waitFor()
    await page.getByText('tollgate cannot be reached.').waitFor({ state: 'detached' })
  })

  test('is reported once for a screen of three cards', async ({ ownPage: page, server }) => {
    await page.goto(`${server.address}/app/${at('keys')}`)
    await page.getByText('nightly evals').waitFor()
    let isAway = true
    await page.route('**/app/api/**', (route) => (isAway ? route.abort() : route.fallback()))
    await page.getByRole('link', { name: 'Members' }).click()
    const away = page.getByText('tollgate cannot be reached.')
    await expect.poll(() => away.count()).toBe(3)
    const shown = async () => {
      const alerts = await away.all()
      return Promise.all(alerts.map((each) => each.isVisible()))
    }
    expect((await shown()).toSorted()).toEqual([false, false, true])
    for (const theme of ['light', 'dark'] as const) {
      await changeTheme(page, theme)
      await takePicture(page, `server-away-desk-${theme}`)
      await expectGoodPage(page)
    }
    isAway = false
    await page.getByText('Open invitations').waitFor()
    await away.first().waitFor({ state: 'detached' })
  })

  test('is shown for a change made while the browser is offline, which is not sent later', async ({
    ownPage: page,
    server,
  }) => {
    await page.goto(`${server.address}/app/${at('credit')}?open=redeem`)
    const dialog = page.locator('dialog')
    await dialog.getByRole('textbox', { name: 'Code' }).fill('AAAAAA-BBBBBB-CCCCCC-DDDDDD')
    await page.context().setOffline(true)
    await dialog.getByRole('button', { name: 'Redeem', exact: true }).click()
    await dialog.getByText('tollgate cannot be reached.').waitFor()
    const balances = () => server.asked.filter((one) => one.endsWith('/balance')).length
    const before = balances()
    await page.context().setOffline(false)
    await expect.poll(balances).toBeGreaterThan(before)
    expect(server.asked.filter((one) => one.endsWith('/redeem'))).toEqual([])
  })

  test('is reported until it answers, without grey rows between two tries', async ({
    ownPage: page,
    server,
  }) => {
    await page.goto(`${server.address}/app/${at('members')}`)
    await page.getByText('Open invitations').waitFor()
    let tries = 0
    let isAway = true
    await page.route('**/app/api/**', (route) => {
      if (!isAway) return route.fallback()
      if (route.request().url().endsWith('/start')) tries++
      return route.abort()
    })
    await page.getByRole('link', { name: 'Keys' }).click()
    const away = page.getByText('tollgate cannot be reached.')
    await away.waitFor()
    await page.evaluate(() => {
      const grey = new MutationObserver(() => {
        if (document.querySelector('main .grey') !== null) document.title = 'grey'
      })
      grey.observe(document.body, { childList: true, subtree: true })
    })
    await expect.poll(() => tries).toBeGreaterThan(1)
    expect(await page.title()).not.toBe('grey')
    isAway = false
    await page.getByText('nightly evals').waitFor()
    await away.waitFor({ state: 'detached' })
  })
})

test('in the colours of the system, legends keep their colours, and the chosen item has a frame', async ({
  ownPage: page,
  server,
}) => {
  const look = () =>
    page.evaluate(() =>
      ['.swatch.of-1', '.bar > *', '.nav [aria-current]', '.seg [aria-pressed="true"]'].map(
        (at) => {
          const { backgroundColor, outlineStyle } = getComputedStyle(
            document.querySelector(at) ?? document.body,
          )
          return { at, color: backgroundColor, frame: outlineStyle }
        },
      ),
    )
  await page.goto(`${server.address}/app/${at('overview')}`)
  for (const drawn of ['.swatch.of-1', '.bar > *']) await page.locator(drawn).first().waitFor()
  const [swatch, part] = await look()
  await page.emulateMedia({ forcedColors: 'active' })
  const forced = await look()
  expect(forced.slice(0, 2)).toEqual([swatch, part])
  expect(forced.slice(2).map(({ frame }) => frame)).toEqual(['solid', 'solid'])
})
