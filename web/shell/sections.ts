import type { IconName } from '../parts/icon.tsx'

interface SectionShape {
  readonly to: string
  readonly text: string
  readonly icon: IconName
  /** The key that opens it after `g`. */
  readonly key: string
}

/** The pages of an account, in the order of the side bar. */
const SECTIONS = [
  { to: '/$account/overview', text: 'Overview', icon: 'overview', key: 'o' },
  { to: '/$account/activity', text: 'Activity', icon: 'activity', key: 'a' },
  { to: '/$account/usage', text: 'Usage', icon: 'usage', key: 'u' },
  { to: '/$account/keys', text: 'Keys', icon: 'key', key: 'k' },
  { to: '/$account/credit', text: 'Credit', icon: 'credit', key: 'c' },
  { to: '/$account/models', text: 'Models', icon: 'models', key: 'm' },
  { to: '/$account/playground', text: 'Playground', icon: 'chat', key: 'p' },
  { to: '/$account/connect', text: 'Connect', icon: 'plug', key: 't' },
  { to: '/$account/members', text: 'Members', icon: 'users', key: 'b' },
] as const satisfies readonly SectionShape[]

/** The pages of operators, in the groups of the side bar; the first group has no name. */
export const OPERATOR_GROUPS = [
  {
    title: null,
    sections: [
      { to: '/operator', text: 'Home', icon: 'overview', key: 'h' },
      { to: '/operator/accounts', text: 'Accounts', icon: 'users', key: 'a' },
      { to: '/operator/usage', text: 'Usage and margin', icon: 'usage', key: 'u' },
      { to: '/operator/purchases', text: 'Purchases', icon: 'credit', key: 'p' },
      { to: '/operator/codes', text: 'Credit codes', icon: 'gift', key: 'c' },
    ],
  },
  {
    title: 'Traffic',
    sections: [
      { to: '/operator/activity', text: 'Activity', icon: 'activity', key: 't' },
      { to: '/operator/unsettled', text: 'Unsettled', icon: 'clock', key: 's' },
      { to: '/operator/models', text: 'Models and prices', icon: 'models', key: 'm' },
      { to: '/operator/upstreams', text: 'Upstreams', icon: 'upstream', key: 'r' },
    ],
  },
  {
    title: 'System',
    sections: [
      { to: '/operator/health', text: 'Health', icon: 'shield', key: 'e' },
      { to: '/operator/webhooks', text: 'Webhooks', icon: 'send', key: 'w' },
      { to: '/operator/tokens', text: 'Admin tokens', icon: 'key', key: 'n' },
      { to: '/operator/operators', text: 'Operators', icon: 'user', key: 'o' },
      { to: '/operator/audit-log', text: 'Audit log', icon: 'log', key: 'l' },
    ],
  },
] as const satisfies readonly {
  readonly title: string | null
  readonly sections: readonly SectionShape[]
}[]

/** A page of an account. */
export type AccountSection = (typeof SECTIONS)[number]

/** A page of operators. */
export type OperatorSection = (typeof OPERATOR_GROUPS)[number]['sections'][number]

/** The pages of operators in one list. */
export const OPERATOR_SECTIONS: readonly OperatorSection[] = OPERATOR_GROUPS.flatMap(
  (group): readonly OperatorSection[] => group.sections,
)

/** The pages of an account that a role has: only owners, and operators, decide who is a member. */
export function sectionsOf(role: string): readonly AccountSection[] {
  return SECTIONS.filter(({ text }) => text !== 'Members' || role !== 'member')
}

const TABS = new Set<string>(['Overview', 'Activity', 'Keys', 'Credit'])
const OPERATOR_TABS = new Set<string>(['Home', 'Accounts', 'Usage and margin', 'Unsettled'])

/** Whether a phone has a section in its tab bar; the others are under More. */
export function isTab({ to, text }: AccountSection | OperatorSection): boolean {
  return (to.startsWith('/operator') ? OPERATOR_TABS : TABS).has(text)
}

/** The name of a section in the tab bar of a phone, which has room for one word. */
export function tabText({ text }: AccountSection | OperatorSection): string {
  return text === 'Usage and margin' ? 'Usage' : text
}
