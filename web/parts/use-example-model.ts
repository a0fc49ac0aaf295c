import { useQuery } from '@tanstack/react-query'
import type { Model } from '../api/answers.ts'
import { modelsQuery } from '../api/queries.ts'
import { useMe } from '../shell/use-account.ts'

const SIMULATED_MODEL = 'sim/text'

/** A model of this gateway that answers chats. */
export function useExampleModel(): string {
  const { mode } = useMe()
  const { data } = useQuery({ ...modelsQuery, enabled: mode === 'live' })
  if (mode === 'simulator') return SIMULATED_MODEL
  return data?.data.find(writesText)?.id ?? 'author/model'
}

function writesText({ architecture }: Model): boolean {
  return architecture?.output_modalities?.includes('text') ?? true
}
