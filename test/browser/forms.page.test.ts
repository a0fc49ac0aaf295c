import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { test } from './page-test.ts'
import { json, type StandIn } from './stand-in.ts'
import { HELIX, KEYS } from './stand-in-data.ts'

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

  test('says that an email address is invalid when its field is left', async ({ page, server }) => {
    await page.goto(`${server.address}/app/${HELIX.id}/members`)
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByLabel('Email').fill('grace')
    await page.keyboard.press('Tab')
    await page.getByText('Type an email address, such as ada@example.com.').waitFor()
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

  test('stays open when a text selection ends outside of it', async ({ page, server }) => {
    const { dialog, name } = await openCreateKey(page, server)
    await name.fill('staging')
    const box = await name.boundingBox()
    if (box === null) throw new Error('the field has no place')
    await page.mouse.move(box.x + box.width - 10, box.y + box.height / 2)
    await page.mouse.down()
    await page.mouse.move(5, box.y)
    await page.mouse.up()
    expect(await name.inputValue()).toBe('staging')
    await page.mouse.click(5, box.y)
    await dialog.waitFor({ state: 'detached' })
  })
})
