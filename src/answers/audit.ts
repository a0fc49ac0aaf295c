import { z } from 'zod'
import type { Audit } from '../ledger/audit.ts'

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
      .describe('How many rows were recomputed.'),
    differences: z
      .array(z.object({ what: z.string(), id: z.string(), stored: figure, recomputed: figure }))
      .describe(
        'Stored figures that are not what the rows behind them come to; the first thousand.',
      ),
  })
  .meta({ id: 'Audit' })

/** An audit as it is answered. */
export function auditAnswer({ ok, checked, differences }: Audit): z.infer<typeof auditShape> {
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
    differences: differences.map(({ what, id, stored, recomputed }) => {
      return { what, id, stored, recomputed }
    }),
  }
}
