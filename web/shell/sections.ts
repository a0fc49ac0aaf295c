import type { IconName } from '../parts/icon.tsx'

/** The sections that a phone has in its tab bar; the others are under More. */
export const TABS_MAX = 4

/** The pages of an account, in the order of the side bar; `key` follows `g`. */
export const SECTIONS = [
  { to: '/$account/overview', text: 'Overview', icon: 'overview', key: 'o' },
  { to: '/$account/activity', text: 'Activity', icon: 'activity', key: 'a' },
  { to: '/$account/keys', text: 'Keys', icon: 'key', key: 'k' },
  { to: '/$account/credit', text: 'Credit', icon: 'credit', key: 'c' },
  { to: '/$account/models', text: 'Models', icon: 'models', key: 'm' },
] as const satisfies readonly {
  readonly to: string
  readonly text: string
  readonly icon: IconName
  readonly key: string
}[]
