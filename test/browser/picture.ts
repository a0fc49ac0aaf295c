import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { PICTURE_SIZE, PICTURES, type PictureName, picturePath } from '../pictures.ts'
import { openBrowser, openPage, openStillWindow } from './chromium.ts'
import type { Screen } from './each-screen.ts'
import { ANSWER_ID, json, type StandIn, startStandIn } from './stand-in.ts'
import { at, ME } from './stand-in-data.ts'
import { REQUESTS } from './stand-in-requests.ts'

/** `npm run picture`: takes the pictures of README and of the tour. */

const ROOT = join(import.meta.dirname, '..', '..')

const SCENES: Readonly<Record<PictureName, Omit<Screen, 'name'>>> = {
  page: { path: at('overview'), text: 'Last 30 days' },
  'tour-keys': { path: at('keys'), text: 'nightly evals' },
  'tour-models': { path: at('models'), text: 'black-forest/' },
  'tour-playground': {
    path: at('playground'),
    before: answerChat,
    act: askForCode,
    text: 'Charged $0.0185',
  },
  'tour-activity': {
    path: `${at('activity')}?range=1h&request=${REQUESTS[4]?.id}`,
    text: '$0.018530',
  },
  'tour-credit': { path: at('credit'), text: 'Statement' },
  home: { path: 'operator', text: 'openrouter fails 1 in 8 requests' },
  'tour-margin': { path: 'operator/usage?compare=before', text: 'All 3 accounts' },
}

const ANSWER = `Sort a copy, so that the list of the caller stays as it is:

\`\`\`python
def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
\`\`\`

An empty list has no median: \`ordered[middle]\` then raises an \`IndexError\`.`

function answerChat(server: StandIn): void {
  server.answer(
    '/playground/chat',
    json({ choices: [{ message: { content: ANSWER }, finish_reason: 'stop' }] }),
  )
  server.answer(`/requests/${ANSWER_ID}`, json({ ...REQUESTS[4], id: ANSWER_ID }))
}

async function askForCode(page: Page): Promise<void> {
  await page.getByLabel('Message').fill('Write a function in Python that returns the median.')
  // It can be sent once the models are known.
  await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
  await page.keyboard.press('Control+Enter')
  // Answers are text until what draws Markdown is loaded.
  await page.locator('main pre').waitFor()
}

const browser = await openBrowser()
const server = await startStandIn()
for (const name of Object.keys(PICTURES) as PictureName[]) {
  const { path, before, act, text } = SCENES[name]
  for (const theme of PICTURES[name]) {
    server.reset()
    server.answer('/me', json({ ...ME, mode: 'live' }))
    before?.(server)
    const context = await openStillWindow(browser, { width: 'desk', theme })
    const { page } = await openPage(context)
    await page.setViewportSize(PICTURE_SIZE)
    await page.goto(`${server.address}/app/${path}`)
    await act?.(page, server)
    await page.getByText(text).filter({ visible: true }).first().waitFor()
    // Grey boxes are parts that are still loaded.
    await page.waitForFunction(() => document.querySelector('main .grey') === null)
    await page.evaluate(() => document.fonts.ready)
    await writeFile(join(ROOT, picturePath(name, theme)), await page.screenshot())
    console.log(`${picturePath(name, theme)}: written`)
    await context.close()
  }
}
await browser.close()
await server.close()
