import type { IconName } from '../parts/icon.tsx'

/** The pages of an account, in the order of the side bar; `key` follows `g`. */
export const SECTIONS = [
  { to: '/$account/overview', text: 'Overview', icon: 'overview', key: 'o' },
  { to: '/$account/activity', text: 'Activity', icon: 'activity', key: 'a' },
  { to: '/$account/keys', text: 'Keys', icon: 'key', key: 'k' },
] as const satisfies readonly {
  readonly to: string
  readonly text: string
  readonly icon: IconName
  readonly key: string
}[]
