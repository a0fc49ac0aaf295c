import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { saleQuery } from '../api/sale.ts'
import { Icon } from '../parts/icon.tsx'
import { useAccountId, useAccountName, useMe } from './use-account.ts'

/** Leads owners to the purchase of credit, if credit is sold. */
export function AddCreditLink({ className }: { className: string }) {
  const account = useAccountId()
  const isOwner = useAccountName().role !== 'member'
  const { data: sale } = useQuery({ ...saleQuery(useMe()), enabled: isOwner })
  if (!isOwner || sale === undefined || sale.methods.length === 0) return null
  return (
    <Link className={className} to="/$account/credit" params={{ account }} search={{ open: 'buy' }}>
      <Icon name="plus" />
      Add credit
    </Link>
  )
}
