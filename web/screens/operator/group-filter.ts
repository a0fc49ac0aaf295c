import type { ActivitySearch } from '../activity/search.ts'

/** The filter of Activity for a group of a chart; null: the whole column. Others and pruned requests have none. By position: the grouping, and the group. */
export function groupFilter(by: string, groupId: string | null): ActivitySearch {
  if (groupId === null || groupId === 'others' || groupId === 'pruned') return {}
  switch (by) {
    case 'account':
      return { account: groupId }
    case 'key':
    case 'model':
    case 'endpoint':
    case 'upstream':
      return { [by]: [groupId] }
    default:
      return {}
  }
}
