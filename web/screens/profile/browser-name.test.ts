import { expect, test } from 'vitest'
import { browserName } from './browser-name.ts'

test('a browser is named by its agent, and an unknown agent has no name', () => {
  const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36'
  expect(browserName(chrome)).toBe('Chrome on Linux')
  expect(browserName(`${chrome} Edg/140.0`)).toBe('Edge on Linux')
  expect(browserName('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/18 Safari/605')).toBe(
    'Safari on macOS',
  )
  expect(browserName('curl/8.5')).toBe('curl')
  expect(browserName('<script>')).toBe('Unknown browser')
  expect(browserName(null)).toBe('Unknown browser')
})
