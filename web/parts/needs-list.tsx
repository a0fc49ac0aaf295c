import { Link } from '@tanstack/react-router'
import { Icon, type IconName } from './icon.tsx'

/** The targets of the rows. */
type NeedLink =
  | { readonly to: '/$account/keys' | '/$account/credit'; readonly params: { account: string } }
  | {
      readonly to: '/$account/activity'
      readonly params: { account: string }
      readonly search: { readonly range: '30d'; readonly state: 'unresolved'[] }
    }
  | { readonly to: '/operator/upstreams/$name'; readonly params: { readonly name: string } }
  | { readonly to: '/operator/accounts/$account'; readonly params: { readonly account: string } }
  | {
      readonly to: '/operator/accounts/$account/activity'
      readonly params: { readonly account: string }
      readonly search: { readonly failed?: true }
    }
  | { readonly to: '/operator/webhooks/$id'; readonly params: { readonly id: string } }
  | {
      readonly to: '/operator/accounts'
      readonly search: {
        readonly state: 'low_credit' | 'failing' | 'in_debt'
        readonly sort?: 'available'
      }
    }
  | { readonly to: '/operator/purchases' | '/operator/unsettled' | '/operator/health' }

/** Something that a person should look at, and where. */
export interface Need {
  readonly tone: 'bad' | 'wait' | 'info'
  readonly icon: IconName
  readonly title: string
  readonly note: string
  readonly link: NeedLink
}

const TONES = { bad: 'text-bad', wait: 'text-wait', info: 'text-info' } as const

/** Rows that need attention. A whole row is the link. */
export function NeedsList({ needs }: { needs: readonly Need[] }) {
  return (
    <ul className="needs links pt-1">
      {withKeys(needs).map(({ key, tone, icon, title, note, link }) => (
        <li key={key}>
          <span className={TONES[tone]}>
            <Icon name={icon} />
          </span>
          <div>
            <Link {...link}>{title}</Link>
            <p>{note}</p>
          </div>
          <Icon name="right" small />
        </li>
      ))}
    </ul>
  )
}

/**
 * Each row with its key: its target, and its place among the rows with that target. The focus stays on its row when others
 * go away, and when the figures in its title change.
 */
function withKeys(needs: readonly Need[]): readonly (Need & { readonly key: string })[] {
  const rows = new Map<string, number>()
  return needs.map((need) => {
    const target = JSON.stringify(need.link)
    const place = rows.get(target) ?? 0
    rows.set(target, place + 1)
    return { ...need, key: `${target} ${place}` }
  })
}
