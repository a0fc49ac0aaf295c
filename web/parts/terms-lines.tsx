import type { ApiKey } from '../api/answers.ts'

const NAMED = 2

/** The models that may be used, in one line; nothing where all may. */
export function OnlyModels({ models }: Pick<ApiKey, 'models'>) {
  if (models === null) return null
  const words = [listed('only', models.allow), listed('never', models.deny)].filter(Boolean)
  return <span className="two wrap-anywhere">{words.join('; ')}</span>
}

function listed(word: string, patterns: readonly string[]): string {
  if (patterns.length === 0) return ''
  const named = patterns.slice(0, NAMED).join(', ')
  const more = patterns.length - NAMED
  return `${word} ${named}${more > 0 ? ` and ${more} more` : ''}`
}
