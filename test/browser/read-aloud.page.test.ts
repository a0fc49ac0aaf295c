import { expect } from 'vitest'
import { expectGoodPage } from './chromium.ts'
import { lookAt } from './looks.ts'
import { test } from './page-test.ts'
import { at, HELIX, KEYS } from './stand-in-data.ts'

/** The page as a screen reader has it, where axe has no rule; and faults that axe is asked about only where a quick look sees them. */

const TABLES = [
  at('overview'),
  at('activity'),
  at('usage'),
  at('usage?by=tag'),
  at('keys'),
  at('credit'),
  at('models'),
  at('members'),
  'profile',
  'operator',
  'operator/accounts',
  'operator/upstreams/openrouter',
  'operator/webhooks',
  'operator/audit-log',
]

test.for(TABLES)('each table has a name: %s', async (path, { page, server }) => {
  await page.goto(`${server.address}/app/${path}`)
  await page.getByRole('table').first().waitFor()
  const names = await page
    .getByRole('table')
    .evaluateAll((tables) => tables.map((table) => table.getAttribute('aria-label')))
  expect(names.filter((name) => name === null || name === '')).toEqual([])
})

test('a margin is read apart from its percentage, and the name of a tab from its count', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator`)
  await page.getByRole('cell', { name: '$10.63 13.0%', exact: true }).first().waitFor()
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}`)
  const tabs = page.getByRole('navigation', { name: HELIX.name })
  await tabs.getByRole('link', { name: `Keys ${KEYS.length}`, exact: true }).waitFor()
})

test('a field is named without its shortcut, and the button of a model with its model', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByRole('searchbox', { name: 'Name or prefix of a key', exact: true }).waitFor()
  await page.goto(`${server.address}/app/${at('playground?model=openai/gpt-6-mini')}`)
  await page.getByRole('button', { name: 'Model openai/gpt-6-mini', exact: true }).waitFor()
})

test('a question is read with its consequences, and a form field by field', async ({
  page,
  server,
}) => {
  const [key] = KEYS
  const open = async (item: string) => {
    await page.goto(`${server.address}/app/${at('keys')}`)
    await page.getByRole('button', { name: `Actions for ${key?.name}` }).click()
    await page.getByRole('button', { name: item, exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Cancel' }).waitFor()
    const id = await dialog.getAttribute('aria-describedby')
    return id === null ? null : page.evaluate((of) => document.getElementById(of)?.textContent, id)
  }
  expect(await open('Disable')).toMatch(/^From now on, requests with this key are refused/)
  expect(await open('Change')).toBe(null)
})

/** By position: axe's rule, what breaks it, and how a good page is made to break it. */
const FAULTS = [
  ['color-contrast', 'a faint text', (text) => text.style.setProperty('color', '#999')],
  ['color-contrast', 'a faded text', (text) => text.style.setProperty('opacity', '0.4')],
  [
    'color-contrast',
    'a text on a colour of what holds it',
    (text) => text.parentElement?.style.setProperty('background', '#777'),
  ],
  [
    'color-contrast',
    'a text before a part that does not hold it',
    (text) => {
      const behind = document.createElement('div')
      Object.assign(behind.style, { position: 'absolute', inset: '0', background: '#777' })
      text.parentElement?.prepend(behind)
      Object.assign(text.style, { position: 'relative', zIndex: '1' })
    },
  ],
  [
    'link-in-text-block',
    'a link that differs from the text around it by its colour alone',
    (text) => {
      const link = document.createElement('a')
      Object.assign(link, { href: '#there', textContent: 'there' })
      Object.assign(link.style, { color: '#545a66', font: 'inherit', textDecoration: 'none' })
      const part = document.createElement('span')
      part.append(link)
      text.append(' Look ', part, ' or here.')
    },
  ],
  [
    'target-size',
    'small targets side by side',
    (text) => {
      for (const name of ['one', 'two']) {
        const target = document.createElement('button')
        target.textContent = name
        Object.assign(target.style, { height: '12px', width: '12px', padding: '0' })
        text.after(target)
      }
    },
  ],
] as const satisfies readonly (readonly [string, string, (text: HTMLElement) => void])[]

test.for(FAULTS)('%s is found in %s', async ([rule, , spoil], { page, server }) => {
  await page.goto(`${server.address}/app/forgot`)
  const text = page.getByText('You get an email with a link.')
  await text.waitFor()
  await expectGoodPage(page)
  await text.evaluate(spoil)
  const complaint = expectGoodPage(page).catch(({ actual }) => String(actual))
  expect(await complaint).toContain(rule)
})

/** By position: axe's rule, what breaks it, and a part that does. */
const PLANTED = [
  [
    'color-contrast',
    'a text that what holds it moves before a painted part',
    `<div data-style="background: #777; height: 40px"></div>
    <div data-style="position: relative; height: 0">
      <div data-style="position: absolute; top: -30px"><div>Moved</div></div>
    </div>`,
  ],
  [
    'color-contrast',
    'a text before what a moved part holds',
    `<div data-style="position: relative">
      <div data-style="position: absolute; inset: 0"><div data-style="background: #777; height: 40px"></div></div>
      <div data-style="position: relative">Before</div>
    </div>`,
  ],
  [
    'color-contrast',
    'a text that a margin moves',
    `<div data-style="background: #777; height: 40px"></div><div data-style="margin-top: -30px">Moved</div>`,
  ],
  [
    'color-contrast',
    'a text that an offset moves',
    `<div data-style="background: #777; height: 40px"></div>
    <div data-style="position: relative; top: -30px">Moved</div>`,
  ],
  [
    'color-contrast',
    'a text that a property of its own moves',
    `<div data-style="background: #777; height: 40px"></div><div data-style="translate: 0 -30px">Moved</div>`,
  ],
  [
    'color-contrast',
    'a text in the cell of a painted part',
    `<div data-style="display: grid">
      <div data-style="grid-area: 1 / 1; background: #777; height: 40px"></div><div data-style="grid-area: 1 / 1">Cell</div>
    </div>`,
  ],
  [
    'color-contrast',
    'a text below the window',
    `<div data-style="height: 3000px"></div>
    <div data-style="background: #777; height: 40px"></div><div data-style="margin-top: -30px">Below</div>`,
  ],
  [
    'color-contrast',
    'a text that is moved out of the painted part that holds it',
    `<div data-style="height: 80px">
      <div data-style="background: #222; color: #eee; height: 30px"><div data-style="translate: 0 40px">Out</div></div>
    </div>`,
  ],
  [
    'color-contrast',
    'a text in a part that has a colour but no box',
    `<div data-style="display: contents; background: #222; color: #eee"><div>Boxless</div></div>`,
  ],
  [
    'link-in-text-block',
    'a link whose text is in a part of it',
    `<div data-style="color: #333">See <a href="#x" data-style="color: #545a66; font: inherit; text-decoration: none; padding-right: 4em"><span>there</span></a> or here.</div>`,
  ],
  [
    'target-size',
    'a list that stays in the window under a bar that does',
    `<div data-style="height: 3000px"></div>
    <div data-style="position: fixed; top: 0; bottom: 24px; left: 0; display: flex; align-items: end"><button type="button" data-style="height: 40px; width: 80px; padding: 0">List</button></div>
    <div data-style="position: fixed; bottom: 0; left: 0"><button type="button" data-style="height: 50px; width: 80px; padding: 0">Bar</button></div>`,
  ],
] as const

const BAR = `<div data-style="height: 3000px"></div>
  <div data-style="position: fixed; bottom: 0; left: 0"><button type="button" data-style="height: 50px; width: 80px">Bar</button></div>`

/** As above, by the quick look that sees it: axe is blind to these. */
const PLANTED_FOR_LOOKS = [
  [
    'isHardToRead',
    'a faint text of a part without a box',
    `<div data-style="display: contents; color: #bbb">Faint</div>`,
  ],
  [
    'isHardToReach',
    'a list that scrolls under a bar',
    `<div data-style="position: absolute; top: 0; left: 0; height: 100vh; overflow: auto">
      <button type="button" data-style="height: 200vh; width: 80px">List</button></div>${BAR}`,
  ],
  [
    'isHardToReach',
    'a list that sticks to the window under a bar',
    `<div data-style="position: sticky; top: 0; height: 0">
      <button type="button" data-style="height: 100vh; width: 80px; position: absolute; top: 0; left: -50vw; width: 50vw">List</button></div>${BAR}`,
  ],
] as const

test('axe is asked about each part that lies elsewhere than what holds it', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/forgot`)
  const text = page.getByText('You get an email with a link.')
  await text.waitFor()
  const missed: string[] = []
  const plant = (html: string) =>
    text.evaluateHandle((before, inner) => {
      const part = document.createElement('div')
      part.innerHTML = inner
      // The policy of the page lets scripts set styles, but no attributes.
      for (const styled of part.querySelectorAll<HTMLElement>('[data-style]'))
        styled.style.cssText = styled.dataset['style'] ?? ''
      before.after(part)
      return part
    }, html)
  for (const [rule, name, html] of PLANTED) {
    const planted = await plant(html)
    const complaint = await expectGoodPage(page).catch(({ actual }) => String(actual))
    if (complaint?.includes(rule) !== true) missed.push(`${rule}: ${name}`)
    await planted.evaluate((part) => part.remove())
  }
  for (const [look, name, html] of PLANTED_FOR_LOOKS) {
    const planted = await plant(html)
    if (!(await lookAt(page, look))[look]) missed.push(`${look}: ${name}`)
    await planted.evaluate((part) => part.remove())
    if ((await lookAt(page, look))[look]) missed.push(`${look}: the page itself`)
  }
  expect(missed).toEqual([])
  await expectGoodPage(page)
})
