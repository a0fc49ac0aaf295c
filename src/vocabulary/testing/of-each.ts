import { afterEach, beforeEach } from 'vitest'

/**
 * A part that is opened before each test and closed after it. The object stands for the part of the running test, and
 * has no members outside of tests.
 */
export function ofEach<Part extends { close(): Promise<unknown> }>(
  open: () => Promise<Part>,
): Part {
  let opened: Part
  beforeEach(async () => {
    opened = await open()
  })
  afterEach(() => opened.close())
  return new Proxy({} as Part, {
    get(_, name) {
      const member = Reflect.get(opened, name, opened)
      return typeof member === 'function' ? member.bind(opened) : member
    },
    set: (_, name, value) => Reflect.set(opened, name, value, opened),
  })
}
