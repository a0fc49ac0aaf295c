import { useQuery } from '@tanstack/react-query'
import type { Model } from '../api/answers.ts'
import { modelsQuery } from '../api/queries.ts'
import { useMe } from '../shell/use-account.ts'

const SIMULATED_MODELS = { text: 'sim/text', image: 'sim/image' } as const

/** What a model writes. */
export type Writes = keyof typeof SIMULATED_MODELS

/** The models that write this, in the order of the catalog; none until it is read. */
export function useModels(writes: Writes): readonly Model[] {
  const { data } = useQuery(modelsQuery)
  return data?.data.filter((model) => outputsOf(model).includes(writes)) ?? []
}

/** A model of this gateway that answers chats, or draws. */
export function useExampleModel(writes: Writes = 'text'): string {
  const { mode } = useMe()
  const [first] = useModels(writes)
  if (mode === 'simulator') return SIMULATED_MODELS[writes]
  return first?.id ?? 'author/model'
}

function outputsOf({ architecture }: Model): readonly string[] {
  return architecture.output_modalities
}
