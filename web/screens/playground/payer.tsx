import { getRouteApi } from '@tanstack/react-router'
import { ChooseAccount } from '../../parts/pick-account.tsx'
import { useAccountId, useNameOf } from '../../shell/use-account.ts'

const route = getRouteApi('/$account/playground')

/** Says to an operator whose credit pays, and offers the credit of another account. Nothing for members, whose account pays. */
export function Payer() {
  const accountId = useAccountId()
  const { name, role } = useNameOf(accountId)
  const { model } = route.useSearch()
  const navigate = route.useNavigate()
  if (role !== 'operator') return null
  return (
    <div className="filters">
      <p className="note flex-1 max-[820px]:basis-full">
        Requests are charged to the credit of <b>{name}</b>, and appear in its Activity.
      </p>
      <ChooseAccount
        accountId={accountId}
        className="pill"
        onChoose={(account) =>
          void navigate({
            to: '/$account/playground',
            params: { account },
            search: model === undefined ? {} : { model },
          })
        }
      >
        Charge another account
      </ChooseAccount>
    </div>
  )
}
