import type { Call } from '../vocabulary/call.ts'
import { isJsonObject, type JsonEdit, type JsonObject } from '../vocabulary/json-body.ts'
import type { Offer } from '../vocabulary/offer.ts'
import type { Words } from '../vocabulary/words.ts'
import { readObjects } from './fields.ts'

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
export function fileEngineEdits(root: JsonObject, words: Words): readonly JsonEdit[] {
  if (words.fileEngine === words.upstreamFileEngine) return []
  const edits: JsonEdit[] = []
  for (const [index, plugin] of readObjects(root, 'plugins').entries()) {
    const pdf = plugin['pdf']
    if (plugin['id'] !== 'file-parser' || !isJsonObject(pdf)) continue
    if (pdf['engine'] !== words.fileEngine) continue
    edits.push({
      kind: 'set',
      path: ['plugins', index, 'pdf', 'engine'],
      json: JSON.stringify(words.upstreamFileEngine),
    })
  }
  return edits
}
