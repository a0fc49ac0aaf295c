import { useQuery } from '@tanstack/react-query'
import type { Model } from '../api/answers.ts'
import { modelsQuery } from '../api/queries.ts'
import { mayUse } from '../format/model-lists.ts'
import type { Terms } from '../format/terms.ts'
import { useAccountId, useMe } from '../shell/use-account.ts'

/** The simulator's model of each format that the page has lines for. */
const SIMULATED_MODELS = {
  chat: 'sim/text',
  messages: 'sim/text',
  responses: 'sim/text',
  images: 'sim/image',
} as const

/** A format that the page has lines for. */
export type Endpoint = keyof typeof SIMULATED_MODELS

/** The models that are answered in one of these formats, in the order of the catalog; none until it is read. */
export function useModels(formats: readonly Endpoint[]): readonly Model[] {
  const { data } = useQuery(modelsQuery(useAccountId()))
  return data?.data.filter(({ endpoints }) => formats.some((one) => endpoints.includes(one))) ?? []
}

/** A model of this gateway that is answered in this format, and that these lists of a key allow. By position: the format, and the lists. */
export function useExampleModel(format: Endpoint = 'chat', lists: Terms['models'] = null): string {
  const { mode } = useMe()
  const models = useModels([format]).filter(({ id }) => mayUse(lists, id))
  const named = lists?.allow.find((pattern) => !pattern.endsWith('/*'))
  if (models.length === 0 && named !== undefined) return named
  const simulated = SIMULATED_MODELS[format]
  const isUsual = models.length === 0 || models.some(({ id }) => id === simulated)
  if (mode === 'simulator' && isUsual) return simulated
  return models[0]?.id ?? 'author/model'
}
