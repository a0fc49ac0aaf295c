import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { TEXT_CHARS_MAX } from '../../src/vocabulary/text-chars.ts'
import { test } from './page-test.ts'
import { down, json, type StandIn } from './stand-in.ts'
import { FACTORS, HELIX, KEYS, listOf, ME, NEW_RECOVERY_CODES } from './stand-in-data.ts'
import { WEBHOOKS } from './stand-in-operator.ts'

/** Forms in dialogs: what they say is wrong, where they say it, and what ends them. */

async function openCreateKey(page: Page, server: StandIn) {
  await page.goto(`${server.address}/app/${HELIX.id}/keys?create=true`)
  const dialog = page.getByRole('dialog')
  const name = dialog.getByLabel('Name', { exact: true })
  await name.waitFor()
  return { dialog, name, send: () => dialog.getByRole('button', { name: 'Create key' }).click() }
}

const isFocused = (element: Element) => element === document.activeElement

describe('a form', () => {
  test('says below an empty field that it is required, moves the focus there, and removes the message when it is filled', async ({
    page,
    server,
  }) => {
    const { dialog, name, send } = await openCreateKey(page, server)
    await send()
    await dialog.getByText('Fill in this field.').waitFor()
    expect(await name.evaluate(isFocused)).toBe(true)
    expect(await name.getAttribute('aria-invalid')).toBe('true')
    await name.fill('staging')
    expect(await dialog.getByText('Fill in this field.').count()).toBe(0)
  })

  test('takes a name of as many characters as the server takes', async ({ page, server }) => {
    const { name } = await openCreateKey(page, server)
    await name.pressSequentially('w'.repeat(TEXT_CHARS_MAX.name + 1))
    expect(await name.inputValue()).toHaveLength(TEXT_CHARS_MAX.name)
  })

  test('says below an expiry in the past that it must be later, and removes the message when it is', async ({
    page,
    server,
  }) => {
    const { dialog, name, send } = await openCreateKey(page, server)
    await name.fill('staging')
    await dialog.getByRole('button', { name: 'On a date' }).click()
    const at = dialog.getByLabel('Date and time of the expiry')
    await at.fill('2020-01-31T12:00')
    await send()
    await dialog.getByText('Choose a time that is still to come.').waitFor()
    expect(await at.evaluate(isFocused)).toBe(true)
    expect(server.asked.filter((asked) => asked.startsWith('POST'))).toEqual([])
    await at.fill('2031-01-31T12:00')
    expect(await dialog.getByText('Choose a time that is still to come.').count()).toBe(0)
  })

  test('of a key that has expired takes another name, and leaves the expiry as it is', async ({
    page,
    server,
  }) => {
    const expired = { ...KEYS[0], state: 'expired', expires_at: '2026-11-01T12:00:00.000Z' }
    server.answer('/keys', json(listOf([expired])))
    server.answer(`PATCH /keys/${expired.id}`, json(expired))
    await page.goto(`${server.address}/app/${HELIX.id}/keys`)
    await page.getByRole('button', { name: `Actions for ${expired.name}` }).click()
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('retired')
    const [sent] = await Promise.all([
      page.waitForRequest((request) => request.method() === 'PATCH'),
      dialog.getByRole('button', { name: 'Save' }).click(),
    ])
    expect(sent.postDataJSON()).toEqual({ name: 'retired' })
    await page.getByText('Key changed.').waitFor()
  })

  test('says that an email address is invalid when its field is left', async ({ page, server }) => {
    await page.goto(`${server.address}/app/${HELIX.id}/members`)
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByLabel('Email').fill('grace')
    await page.keyboard.press('Tab')
    await page.getByText('Enter an email address, such as ada@example.com.').waitFor()
  })

  test('moves to the field that the server refuses, which does not repeat its name in the API', async ({
    page,
    server,
  }) => {
    const message = '`name` must be 1 to 100 characters without control characters.'
    const error = { message, code: 'invalid_parameter', param: 'name' }
    server.answer('POST /keys', { ...json({ error }), httpStatus: 400 })
    const { dialog, name, send } = await openCreateKey(page, server)
    await name.fill('staging')
    await send()
    await dialog.getByText('Must be 1 to 100 characters without control characters.').waitFor()
    expect(await name.evaluate(isFocused)).toBe(true)
  })

  test('is sent once, however fast its button is pressed again', async ({ page, server }) => {
    server.answer('POST /keys', json({ ...KEYS[0], key: 'sk-tollgate-new' }))
    const { dialog, name } = await openCreateKey(page, server)
    await name.fill('staging')
    await dialog.locator('form').evaluate((form: HTMLFormElement) => {
      form.requestSubmit()
      form.requestSubmit()
    })
    await page.getByText(/^Key “.*” is ready$/).waitFor()
    expect(server.asked.filter((asked) => asked.startsWith('POST'))).toHaveLength(1)
  })

  test('of a key stays open, with what was typed, when the key is deleted elsewhere', async ({
    page,
    server,
  }) => {
    const [key, ...others] = KEYS
    await page.goto(`${server.address}/app/${HELIX.id}/keys`)
    await page.getByRole('button', { name: `Actions for ${key?.name}` }).click()
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: `Change “${key?.name}”` })
    await dialog.getByLabel('Credit limit').fill('77')
    server.answer('/keys', json(listOf(others)))
    await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
    await page.getByRole('row', { name: String(key?.name) }).waitFor({ state: 'detached' })
    expect(await dialog.getByLabel('Credit limit').inputValue()).toBe('77')
  })

  test('sends only what was changed in it, and takes only that back', async ({ page, server }) => {
    const [key, ...others] = KEYS
    const changed = () => page.waitForRequest((request) => request.method() === 'PATCH')
    server.answer(`/keys/${key?.id}`, json({ ...key, name: 'renamed', credit_limit: 900_000_000 }))
    await page.goto(`${server.address}/app/${HELIX.id}/keys`)
    await page.getByRole('button', { name: `Actions for ${key?.name}` }).click()
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const raised = { ...key, credit_limit: 900_000_000 }
    server.answer('/keys', json(listOf([raised, ...others])))
    await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
    await page.getByText('of $900.00').waitFor()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('renamed')
    const [sent] = await Promise.all([
      changed(),
      dialog.getByRole('button', { name: 'Save' }).click(),
    ])
    expect(sent.postDataJSON()).toEqual({ name: 'renamed' })
    const [back] = await Promise.all([
      changed(),
      page.getByRole('button', { name: 'Undo' }).click(),
    ])
    expect(back.postDataJSON()).toEqual({ name: key?.name })
  })

  test('keeps what was typed when the session has ended, and leads to the sign-in', async ({
    page,
    server,
  }) => {
    const error = { message: 'Sign in first.', code: 'not_signed_in' }
    server.answer('POST /keys', { ...json({ error }), httpStatus: 401 })
    const { dialog, name, send } = await openCreateKey(page, server)
    await name.fill('staging')
    await send()
    const link = dialog.getByRole('link', { name: 'Sign in in another tab' })
    expect(await link.getAttribute('href')).toBe('/app/sign-in')
    expect(await name.inputValue()).toBe('staging')
  })

  test('stays open after a click outside of it once something was typed, and Escape asks before that is lost', async ({
    page,
    server,
  }) => {
    const { dialog, name } = await openCreateKey(page, server)
    await page.mouse.click(5, 5)
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Create key' }).click()
    await name.fill('staging')
    const box = await name.boundingBox()
    if (box === null) throw new Error('the field has no place')
    await page.mouse.move(box.x + box.width - 10, box.y + box.height / 2)
    await page.mouse.down()
    await page.mouse.move(5, box.y)
    await page.mouse.up()
    await page.mouse.click(5, box.y)
    expect(await name.inputValue()).toBe('staging')
    const question = page.getByRole('dialog', { name: 'Discard what you typed?' })
    await page.keyboard.press('Escape')
    await question.getByRole('button', { name: 'Keep editing' }).click()
    expect(await name.inputValue()).toBe('staging')
    await page.keyboard.press('Escape')
    await question.waitFor()
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    expect(await name.inputValue()).toBe('staging')
    await page.getByLabel('Credit limit').fill('5')
    await page.keyboard.press('Escape')
    await question.waitFor()
    // Esc again before the question that Esc has closed hears of it.
    await page.evaluate(() => {
      const [form, asked] = document.querySelectorAll('dialog')
      asked?.close()
      const pressed = { key: 'Escape', bubbles: true, cancelable: true }
      form?.querySelector('input')?.dispatchEvent(new KeyboardEvent('keydown', pressed))
    })
    await question.getByRole('button', { name: 'Discard' }).click()
    await dialog.waitFor({ state: 'detached' })
  })

  test('keeps the focus on its button when the server fails, so that Enter tries again', async ({
    page,
    server,
  }) => {
    server.answer('POST /keys', down)
    const { dialog, name } = await openCreateKey(page, server)
    await name.fill('staging')
    const button = dialog.getByRole('button', { name: 'Create key' })
    await button.focus()
    await page.keyboard.press('Enter')
    await dialog.getByText('The store is busy.').waitFor()
    server.answer('POST /keys', json({ ...KEYS[0], key: 'sk-tollgate-new' }))
    await page.keyboard.press('Enter')
    await page.getByText(/^Key “.*” is ready$/).waitFor()
  })
})

test('settings can be saved only while they differ from what the server has', async ({
  page,
  server,
}) => {
  server.answer(`/operator/accounts/${HELIX.id}`, json(HELIX))
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}/settings`)
  const saves = page.getByRole('button', { name: /^Save / })
  await saves.first().waitFor()
  const able = async () => {
    const names = await saves.evaluateAll((all) =>
      all.filter((one) => one.ariaDisabled !== 'true').map((one) => one.ariaLabel),
    )
    return names
  }
  expect([await saves.count(), await able()]).toEqual([5, []])
  const change = async (label: string, save: string) => {
    const field = page.getByLabel(label, { exact: true })
    const before = await field.inputValue()
    await field.fill('7')
    expect(await able()).toEqual([save])
    await field.fill(before)
    expect(await able()).toEqual([])
  }
  await change('Name', 'Save account')
  await change('Low-credit alert', 'Save fee and alert')
  await change('Requests a minute', 'Save models, allowance and limits')
  await change('Tax ID', 'Save billing details')
  await change('Notes', 'Save metadata')
  const low = page.getByLabel('Low-credit alert')
  await low.focus()
  await page.keyboard.press('Enter')
  await low.fill('50')
  server.answer(`/operator/accounts/${HELIX.id}`, json({ ...HELIX, low_balance: 50_000_000 }))
  await page.getByRole('button', { name: 'Save fee and alert' }).click()
  await page.getByText('Fee and alert saved.').waitFor()
  await expect.poll(able).toEqual([])
  expect(server.asked.filter((one) => one.startsWith('PATCH'))).toHaveLength(1)
})

test('settings that are not saved are marked, and left only after a question that names their cards', async ({
  page,
  server,
}) => {
  server.answer(`/operator/accounts/${HELIX.id}`, json(HELIX))
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}/settings`)
  await page.getByLabel('Platform fee').fill('7')
  await page.getByLabel('Tax ID').fill('US 12')
  const marks = page.locator('main .card').filter({ hasText: 'Not saved' })
  expect(await marks.evaluateAll((all) => all.map((one) => one.ariaLabel))).toEqual([
    'Fee and alert',
    'Billing details',
  ])
  const billing = { name: null, address: null, tax_id: 'US 12' }
  server.answer(`/operator/accounts/${HELIX.id}`, json({ ...HELIX, billing }))
  await page.getByRole('button', { name: 'Save billing details' }).click()
  await page.getByText('Billing details saved.').waitFor()
  await expect.poll(() => marks.count()).toBe(1)
  const question = page.getByRole('dialog', { name: 'Leave without saving?' })
  const tab = page.locator('nav.tabs').getByRole('link', { name: 'Keys' })
  const sideBar = page.getByRole('link', { name: 'Purchases' }).first()
  for (const way of [tab, sideBar]) {
    await way.click()
    await question.getByText('Not saved: Fee and alert.').waitFor()
    await question.getByRole('button', { name: 'Stay' }).click()
    expect(await page.getByLabel('Platform fee').inputValue()).toBe('7')
  }
  const asked = page.waitForEvent('dialog')
  const reloaded = page.reload()
  const dialog = await asked
  expect(dialog.type()).toBe('beforeunload')
  await dialog.accept()
  await reloaded
  await page.getByLabel('Platform fee').fill('7')
  await sideBar.click()
  await question.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'Purchases', level: 1 }).waitFor()
})

test('a key and a webhook can be saved only once something was changed', async ({
  page,
  server,
}) => {
  const save = page.getByRole('dialog').getByRole('button', { name: 'Save' })
  await page.goto(`${server.address}/app/${HELIX.id}/keys`)
  await page.getByRole('button', { name: `Actions for ${KEYS[0]?.name}` }).click()
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  expect(await save.isDisabled()).toBe(true)
  await page.getByLabel('Credit limit').fill('77')
  expect(await save.isDisabled()).toBe(false)
  await page.goto(`${server.address}/app/operator/webhooks/${WEBHOOKS[0]?.id}`)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  expect(await save.isDisabled()).toBe(true)
  const event = page.getByRole('checkbox', { name: 'balance.low' })
  await event.uncheck()
  expect(await save.isDisabled()).toBe(false)
  await event.check()
  expect(await save.isDisabled()).toBe(true)
})

test('a save of settings undoes no change that another operator has made meanwhile', async ({
  page,
  server,
}) => {
  const path = `/operator/accounts/${HELIX.id}`
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}/settings`)
  const [fee, low] = [page.getByLabel('Platform fee'), page.getByLabel('Low-credit alert')]
  const inFlight = page.getByLabel('Requests in flight')
  await low.fill('50')
  await page.getByLabel('Requests a minute').fill('90')
  const limits = { ...HELIX.limits, in_flight: 7 }
  server.answer(path, json({ ...HELIX, fee_basis_points: 777, limits }))
  await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
  await expect.poll(() => fee.inputValue()).toBe('7.77')
  expect(await inFlight.inputValue()).toBe('7')
  expect(await low.inputValue()).toBe('50')
  const save = async (name: string) => {
    const changed = page.waitForRequest((request) => request.method() === 'PATCH')
    await page.getByRole('button', { name }).click()
    return (await changed).postDataJSON()
  }
  expect(await save('Save fee and alert')).toEqual({ low_balance: 50_000_000 })
  const terms = await save('Save models, allowance and limits')
  expect(terms).toEqual({ limits: { requests_per_minute: 90 } })
})

test.for([
  ['with', true, 'You then sign in with your password alone.'],
  ['without', false, 'You then sign in by email or at your provider alone.'],
] as const)(
  'a user %s a password reads what is left to sign in with before the last second factor is removed',
  async ([_, has_password, text], { page, server }) => {
    server.answer('/me', json({ ...ME, user: { ...ME.user, has_password } }))
    server.answer('/auth/factors', json({ ...FACTORS, data: FACTORS.data.slice(0, 1) }))
    await page.goto(`${server.address}/app/profile`)
    await page.getByRole('button', { name: 'Remove the authenticator app' }).click()
    await page.getByRole('dialog').getByText(text).waitFor()
  },
)

test('recovery codes that were not copied are left only after a question', async ({
  page,
  server,
}) => {
  server.answer('/auth/factors', json(FACTORS))
  await page.goto(`${server.address}/app/profile`)
  await page.getByRole('button', { name: 'Make new codes' }).click()
  await page.getByRole('button', { name: 'Make ten codes' }).click()
  const codes = page.getByRole('dialog', { name: 'Recovery codes', exact: true })
  await codes.getByText(String(NEW_RECOVERY_CODES.recovery_codes[0])).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Go back' }).click()
  await codes.getByText(String(NEW_RECOVERY_CODES.recovery_codes[0])).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await codes.waitFor({ state: 'detached' })
})

test('an owner who would become a member is asked first, and stays an owner by Cancel', async ({
  page,
  server,
}) => {
  server.answer('/me', json({ ...ME, user: { ...ME.user, is_operator: false } }))
  await page.goto(`${server.address}/app/${HELIX.id}/members`)
  const role = page.getByLabel(`Role of ${ME.user.name}`)
  await role.selectOption('member')
  const dialog = page.getByRole('dialog', { name: 'Stop being an owner?' })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(await role.inputValue()).toBe('owner')
  await role.selectOption('member')
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.method() === 'PATCH'),
    dialog.getByRole('button', { name: 'Become a member' }).click(),
  ])
  expect(sent.postDataJSON()).toEqual({ role: 'member' })
})
