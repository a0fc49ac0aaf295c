import { z } from 'zod'
import type { Audit } from '../../ledger/audit/audit.ts'
import { idField, timeAnswer, timeField } from './fields.ts'

const figure = z.union([z.string(), z.number()]).nullable()

/** What an audit of the books found. */
export const auditShape = z
  .object({
    object: z.literal('audit'),
    ok: z.boolean().describe('Whether every figure is exact.'),
    checked: z
      .object({
        accounts: z.int(),
        keys: z.int(),
        requests: z.int(),
        entries: z.int(),
        codes: z.int(),
      })
      .describe('The number of rows that were recomputed.'),
    newest_request: z
      .object({ id: idField('req'), opened_at: timeField })
      .nullable()
      .describe('The newest request: an old copy of a store has an old one.'),
    differences: z
      .array(z.object({ what: z.string(), id: z.string(), stored: figure, recomputed: figure }))
      .describe(
        'Stored figures that are not what the rows behind them come to; the first thousand.',
      ),
  })
  .meta({ id: 'Audit' })

/** An audit as it is answered. */
export function auditAnswer(audit: Audit): z.infer<typeof auditShape> {
  const { ok, checked, newestRequest, differences } = audit
  return {
    object: 'audit',
    ok,
    checked: {
      accounts: checked.accounts,
      keys: checked.apiKeys,
      requests: checked.requests,
      entries: checked.entries,
      codes: checked.creditCodes,
    },
    newest_request:
      newestRequest === null
        ? null
        : { id: newestRequest.id, opened_at: timeAnswer(newestRequest.openedAtMs) },
    differences: differences.map(({ what, id, stored, recomputed }) => {
      return { what, id, stored, recomputed }
    }),
  }
}
