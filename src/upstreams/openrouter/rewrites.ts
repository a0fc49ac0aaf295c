import { field, readObjects } from '../../formats/fields.ts'
import { fileEngineOf } from '../../formats/refusals.ts'
import type { JsonEdit } from '../../json/edit.ts'
import type { JsonObject } from '../../json/walk.ts'
import type { Call } from '../../vocabulary/call.ts'
import type { Offer } from '../../vocabulary/offer.ts'
import type { PublicNames, UpstreamNames } from '../../vocabulary/public-names.ts'
import type { RewriteInput } from '../wire.ts'

/** OpenRouter's names for what clients may ask for. */
export const OPENROUTER_NAMES: UpstreamNames = {
  fileEngine: 'cloudflare-ai',
  toolPrefix: 'openrouter:',
}

/** The upstream's own id in place of the client's model name, if they differ. */
export function modelEdit(call: Call, offer: Offer): readonly JsonEdit[] {
  if (call.modelName === offer.upstreamModelId) return []
  return [{ kind: 'set', path: ['model'], json: JSON.stringify(offer.upstreamModelId) }]
}

/** The account's tag as `user`, also if the client set none. */
export function userEdit(accountTag: string): JsonEdit {
  return { kind: 'set', path: ['user'], json: JSON.stringify(accountTag) }
}

/** The upstream's name in place of the clients' name for the free file engine. */
export function fileEngineEdits(root: JsonObject, publicNames: PublicNames): readonly JsonEdit[] {
  if (publicNames.fileEngine === publicNames.upstream.fileEngine) return []
  const edits: JsonEdit[] = []
  for (const [index, plugin] of readObjects(root, 'plugins').entries()) {
    if (plugin['id'] !== 'file-parser' || fileEngineOf(plugin) !== publicNames.fileEngine) continue
    edits.push(fileEngineEdit(index, publicNames))
  }
  return edits
}

function fileEngineEdit(pluginIndex: number, publicNames: PublicNames): JsonEdit {
  return {
    kind: 'set',
    path: ['plugins', pluginIndex, 'pdf', 'engine'],
    json: JSON.stringify(publicNames.upstream.fileEngine),
  }
}

/**
 * {@link fileEngineEdits} and, for a model that reads no files, the free file parser: added if the body sets
 * none, and in place of `native`, which such a model would answer with a paid one.
 */
export function fileParserEdits({
  call,
  body,
  offer,
  publicNames,
}: RewriteInput): readonly JsonEdit[] {
  const needsParser = call.media.files > 0 && !offer.inputModalities.has('file')
  if (!needsParser || call.fileParser === 'free') return fileEngineEdits(body.root, publicNames)
  if (call.fileParser === 'native') {
    const plugins = readObjects(body.root, 'plugins')
    return [
      fileEngineEdit(
        plugins.findIndex((plugin) => plugin['id'] === 'file-parser'),
        publicNames,
      ),
    ]
  }
  const plugin = JSON.stringify({
    id: 'file-parser',
    pdf: { engine: publicNames.upstream.fileEngine },
  })
  return field(body.root, 'plugins') === undefined
    ? [{ kind: 'set', path: ['plugins'], json: `[${plugin}]` }]
    : [{ kind: 'append', path: ['plugins'], json: plugin }]
}
