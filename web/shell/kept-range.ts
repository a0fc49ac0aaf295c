import { useRouterState } from '@tanstack/react-router'
import { readDateRange, searchOf } from '../../src/vocabulary/date-range.ts'
import { type ComparedSearch, readComparedSearch } from '../searches.ts'

/** Whether the screens with a range of days, by the ends of their paths, can also compare it. */
const RANGED: Readonly<Record<string, boolean>> = {
  '/$account/overview': true,
  '/$account/activity': false,
  '/$account/usage': true,
  '/$account/credit': false,
  '/operator': true,
  '/operator/accounts': false,
  '/operator/usage': true,
  '/operator/activity': false,
  '/operator/accounts/$account': true,
  '/operator/accounts/$account/usage': true,
  '/operator/accounts/$account/activity': false,
  '/operator/accounts/$account/credit': false,
}

// In the memory of the tab: on its way a person may open screens without a range.
let kept: ComparedSearch = {}

/**
 * The search of a link to another screen: the range that was chosen last, with its comparison where the screen has one.
 * Hours, which only Activity knows, are not kept.
 */
export function useKeptRange(): (to: string) => ComparedSearch {
  kept = useRouterState({
    select: ({ matches }) => {
      const shown = matches.at(-1)
      return shown === undefined ? kept : keptBy(shown.fullPath, { ...shown.search })
    },
    structuralSharing: true,
  })
  return (to) => {
    const isComparing = RANGED[to]
    if (isComparing === undefined) return {}
    const { compare: _, ...range } = kept
    return isComparing ? kept : range
  }
}

function keptBy(fullPath: string, search: Record<string, unknown>): ComparedSearch {
  const isComparing = RANGED[fullPath.replace(/(?<=.)\/$/, '')]
  if (isComparing === undefined) return kept
  if (isComparing) return readComparedSearch(search)
  const range = readDateRange(search)
  return { ...(kept.compare && { compare: kept.compare }), ...(range && searchOf(range)) }
}
