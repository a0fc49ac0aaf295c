import { createStore } from '../parts/store.ts'

/** `system`: as the device has it. */
export type Theme = 'system' | 'light' | 'dark'

const YEAR_SECONDS = 31_536_000

// The server writes the cookie's value into the page, so that none flashes.
const chosen = createStore(themeOfPage())

/** The theme that was chosen. */
export const useTheme = chosen.useValue

/** Shows the page in this theme, here and at each later visit. */
export function chooseTheme(theme: Theme): void {
  const isSystem = theme === 'system'
  if (isSystem) delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  const value = isSystem ? 'theme=; max-age=0' : `theme=${theme}; max-age=${YEAR_SECONDS}`
  // At /, because /docs has the theme too. A cookie of an earlier release at /app would outrank it.
  for (const cookie of ['theme=; max-age=0; path=/app', `${value}; path=/`]) {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser
    document.cookie = `${cookie}; samesite=lax`
  }
  chosen.set(theme)
}

function themeOfPage(): Theme {
  const { theme } = document.documentElement.dataset
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

/** Whether the page is dark now, by choice or by the device. */
export function useIsDark(): boolean {
  const theme = useTheme()
  return theme === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark'
}
