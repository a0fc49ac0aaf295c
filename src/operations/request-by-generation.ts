import { z } from 'zod'
import { getRequest } from '../ledger/activity/activity.ts'
import { findGeneration } from '../ledger/activity/search-requests.ts'
import {
  generationBeganMs,
  OWN_GENERATION_PATH,
  ownGeneration,
  ownGenerationShape,
} from '../upstreams/openrouter/own-layouts.ts'
import { type OperationParts, operation } from './operation.ts'
import { noRequest } from './requests.ts'

/** A request of the calling key, in the layout of OpenRouter's generations. */
export function generationOperations({ store, clock }: OperationParts) {
  return [
    operation({
      name: 'getGeneration',
      method: 'GET',
      paths: { key: OWN_GENERATION_PATH },
      summary: "One request of the calling key in the layout of OpenRouter's generations.",
      query: z.object({
        id: z
          .string('must be given once')
          .refine(
            (id) => /^[\w.:-]{1,200}$/.test(id),
            'must be the ID of a request or of a generation',
          )
          .describe('The ID of an answer, or its `x-request-id`.'),
      }),
      answers: { 200: ownGenerationShape },
      problems: ['not_found'],
      async run({ reader, caller: { apiKeyId }, query: { id } }) {
        const row = id.startsWith('req_')
          ? await getRequest(store.pages(reader), id)
          : await findGeneration(store.pages(reader), {
              apiKeyId,
              generationId: id,
              beganMs: generationBeganMs(id),
              nowMs: clock.nowMs(),
            })
        // Another key's request is answered like one that does not exist.
        if (row === null || row.apiKeyId !== apiKeyId) throw await noRequest(store, id)
        return { httpStatus: 200, body: { data: ownGeneration(row) } }
      },
    }),
  ]
}
