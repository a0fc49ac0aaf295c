import { readObjects } from '../../formats/fields.ts'
import { fileEngineOf } from '../../formats/refusals.ts'
import type { JsonEdit } from '../../json/edit.ts'
import type { JsonObject } from '../../json/walk.ts'
import type { Call } from '../../vocabulary/call.ts'
import type { Offer } from '../../vocabulary/offer.ts'
import type { PublicNames } from '../../vocabulary/public-names.ts'

/** The catalog id in place of what the client wrote; nothing where they are the same. */
export function modelEdit(call: Call, offer: Offer): readonly JsonEdit[] {
  if (call.modelName === offer.modelId) return []
  return [{ kind: 'set', path: ['model'], json: JSON.stringify(offer.modelId) }]
}

/** The account's tag as `user`, set even where the client set none. */
export function userEdit(accountTag: string): JsonEdit {
  return { kind: 'set', path: ['user'], json: JSON.stringify(accountTag) }
}

/** The upstream's own word in place of the clients' word for the free file engine. */
export function fileEngineEdits(root: JsonObject, publicNames: PublicNames): readonly JsonEdit[] {
  if (publicNames.fileEngine === publicNames.upstream.fileEngine) return []
  const edits: JsonEdit[] = []
  for (const [index, plugin] of readObjects(root, 'plugins').entries()) {
    if (plugin['id'] !== 'file-parser' || fileEngineOf(plugin) !== publicNames.fileEngine) continue
    edits.push(fileEngineEdit(index, publicNames))
  }
  return edits
}

/** The upstream's word for the free file engine, as the engine of one plugin. */
export function fileEngineEdit(pluginIndex: number, publicNames: PublicNames): JsonEdit {
  return {
    kind: 'set',
    path: ['plugins', pluginIndex, 'pdf', 'engine'],
    json: JSON.stringify(publicNames.upstream.fileEngine),
  }
}

/** The output cap that was held, in the field that the model lists; nothing where there is none to send. */
export function capEdit(offer: Offer, outputCapTokens: number | null): readonly JsonEdit[] {
  if (outputCapTokens === null) return []
  const name = offer.supportedParameters.has('max_tokens') ? 'max_tokens' : 'max_completion_tokens'
  return [{ kind: 'set', path: [name], json: String(outputCapTokens) }]
}

/**
 * How often the provider may run tools, as it is held; nothing where it runs none. What a client sets
 * above it, or of a form that the provider takes for none, would run more than is held.
 */
export function toolCallsEdit({ tools }: Call, root: JsonObject): readonly JsonEdit[] {
  if (!tools.serverTools || root['max_tool_calls'] === tools.steps) return []
  return [{ kind: 'set', path: ['max_tool_calls'], json: String(tools.steps) }]
}
