import { field, readObjects } from '../../formats/fields.ts'
import type { JsonEdit } from '../../json/edit.ts'
import type { RewriteInput, Wire } from '../upstream.ts'
import { readChatAnswer } from './chat-answer.ts'
import { chunkObservers } from './chat-stream.ts'
import { generationIdOf } from './generation-id.ts'
import { readProviderError } from './provider-error.ts'
import {
  capEdit,
  fileEngineEdit,
  fileEngineEdits,
  modelEdit,
  toolCallsEdit,
  userEdit,
} from './rewrites.ts'

/** How chat completions go to OpenRouter. */
export const chat: Wire = {
  path: '/chat/completions',
  rewrites,
  generationIdOf,
  readAnswer: readChatAnswer,
  readError: readProviderError,
  observeStream: chunkObservers({
    textMembers: ['content', 'reasoning', 'reasoning_content', 'arguments', 'refusal'],
    hasGenerationId: true,
  }),
}

/** How legacy completions go to OpenRouter. */
export const completions: Wire = {
  ...chat,
  path: '/completions',
  rewrites: ({ call, body, offer, outputCapTokens, accountTag, publicNames }) => [
    ...modelEdit(call, offer),
    userEdit(accountTag),
    ...fileEngineEdits(body.root, publicNames),
    ...capEdit(offer, outputCapTokens),
    ...toolCallsEdit(call, body.root),
  ],
  observeStream: chunkObservers({ textMembers: ['text', 'reasoning'], hasGenerationId: true }),
}

/** How embeddings go to OpenRouter. */
export const embeddings: Wire = {
  ...chat,
  path: '/embeddings',
  rewrites: ({ call, body, offer, accountTag, publicNames }) => [
    ...modelEdit(call, offer),
    userEdit(accountTag),
    ...fileEngineEdits(body.root, publicNames),
  ],
  observeStream: chunkObservers({ textMembers: [], hasGenerationId: true }),
}

/** How images go to OpenRouter. No answer belongs to a generation. */
export const images: Wire = {
  ...embeddings,
  path: '/images',
  generationIdOf: () => null,
  readAnswer(answer) {
    const reading = readChatAnswer(answer)
    return { ...reading, reported: { ...reading.reported, generationId: null } }
  },
  observeStream: chunkObservers({ textMembers: [], hasGenerationId: false }),
}

function rewrites(input: RewriteInput): readonly JsonEdit[] {
  const { call, offer } = input
  return [
    ...modelEdit(call, offer),
    userEdit(input.accountTag),
    ...fileParserEdits(input),
    ...capEdit(offer, input.outputCapTokens),
    ...toolCallsEdit(call, input.body.root),
  ]
}

// For a model that reads no files itself, the free parser is set where the body sets none, and in place
// of `native`, which such a model would answer with a paid one.
function fileParserEdits({ call, body, offer, publicNames }: RewriteInput): readonly JsonEdit[] {
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
