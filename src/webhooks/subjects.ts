/** The subjects of conditions, and of the rows beside them. */

const REPORTED_END = ' reported'
const SUBSCRIBED_END = ' subscribed'

/** The mark of when an event was last reported, for a key and what it is near. */
export function reportedMark(reported: string): string {
  return `${reported}${REPORTED_END}`
}

/** The mark of when a webhook was enabled, or given the event. */
export function subscribedMark(webhookId: string): string {
  return `${webhookId}${SUBSCRIBED_END}`
}

/** Whether a subject is a mark, which counts for an hour. */
export function isMark(subjectId: string): boolean {
  return subjectId.endsWith(REPORTED_END) || subjectId.endsWith(SUBSCRIBED_END)
}

/** The subject that says since when another has held, while it waits to be reported and until it ends. */
export function waitOf(subjectId: string): string {
  return `${subjectId} waiting`
}

/** The account or key of a subject. */
export function ownerOf(subjectId: string): string {
  const [ownerId = ''] = subjectId.split(' ', 1)
  return ownerId
}
