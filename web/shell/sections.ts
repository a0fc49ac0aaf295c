import type { IconName } from '../parts/icon.tsx'

/** The pages of operators, below those of an account. */
export const OPERATOR_SECTIONS = [
  { to: '/$account/operator/accounts', text: 'Accounts', icon: 'users' },
  { to: '/$account/operator/to-settle', text: 'To settle', icon: 'clock' },
  { to: '/$account/operator/purchases', text: 'Purchases', icon: 'credit' },
  { to: '/$account/operator/codes', text: 'Codes', icon: 'gift' },
  { to: '/$account/operator/tokens', text: 'Admin tokens', icon: 'key' },
  { to: '/$account/operator/webhooks', text: 'Webhooks', icon: 'send' },
  { to: '/$account/operator/health', text: 'Ledger and health', icon: 'shield' },
] as const satisfies readonly {
  readonly to: string
  readonly text: string
  readonly icon: IconName
}[]

/** The pages of an account, in the order of the side bar; `key` follows `g`. */
export const SECTIONS = [
  { to: '/$account/overview', text: 'Overview', icon: 'overview', key: 'o' },
  { to: '/$account/activity', text: 'Activity', icon: 'activity', key: 'a' },
  { to: '/$account/usage', text: 'Usage', icon: 'usage', key: 'u' },
  { to: '/$account/keys', text: 'Keys', icon: 'key', key: 'k' },
  { to: '/$account/credit', text: 'Credit', icon: 'credit', key: 'c' },
  { to: '/$account/models', text: 'Models', icon: 'models', key: 'm' },
  { to: '/$account/playground', text: 'Playground', icon: 'chat', key: 'p' },
  { to: '/$account/connect', text: 'Connect', icon: 'plug', key: 't' },
  { to: '/$account/members', text: 'Members', icon: 'users', key: 'b' },
] as const satisfies readonly {
  readonly to: string
  readonly text: string
  readonly icon: IconName
  readonly key: string
}[]

/** The pages of an account that a role has: only owners, and operators, decide who is a member. */
export function sectionsOf(role: string): readonly (typeof SECTIONS)[number][] {
  return SECTIONS.filter(({ text }) => text !== 'Members' || role !== 'member')
}

const TABS = new Set<string>(['Overview', 'Activity', 'Keys', 'Credit'])

/** Whether a phone has a section in its tab bar; the others are under More. */
export function isTab({ text }: (typeof SECTIONS)[number]): boolean {
  return TABS.has(text)
}
