import type { WrittenModel } from '../upstream-settings.ts'

/** A model as the settings have it: only its ID, unless a field says otherwise. */
export function writtenModel(id: string, model: Partial<WrittenModel> = {}): WrittenModel {
  return {
    id,
    upstreamModelId: id.slice(id.indexOf('/') + 1),
    contextTokens: null,
    outputTokensMax: null,
    prices: null,
    inputModalities: null,
    outputModalities: null,
    supportedParameters: null,
    openWeights: null,
    ...model,
  }
}
