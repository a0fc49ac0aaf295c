import { saleCheckShape } from '../../operations/sale-status.ts'
import { saleFigures } from '../../sale/figures.ts'
import { Problem } from '../../vocabulary/problem.ts'
import type { CommandContext, CommandInput } from '../command-context.ts'
import { openSale, runOperation } from '../operation-command.ts'
import { counted } from '../table.ts'
import { durationText, type Finding } from './finding.ts'

const LOOK_MS_MAX = 5 * 60_000

/** Compares the payments of the last day with their providers, and checks how old the last look at them is. */
export async function checkSale(
  input: CommandInput,
  opened: CommandContext,
): Promise<readonly Finding[]> {
  const { sale } = await openSale(opened, input.settings())
  if (sale === null) return [{ check: 'sale', state: 'ok', message: 'no credit is sold' }]
  return [
    await compare(input, opened),
    ...(await checkLooks(opened)),
    ...(await checkHeldPurchases(opened)),
  ]
}

/** By position: the command's inputs, and the open store. */
async function compare(input: CommandInput, opened: CommandContext): Promise<Finding> {
  const check = 'sale'
  try {
    const asked = { runs: 'checkSale', query: { days: '1' } }
    const { body } = await runOperation(input, { ...opened, letters: [] }, asked)
    const { checked, differences } = saleCheckShape.parse(body)
    if (differences.length === 0) {
      const message = `the store agrees on ${counted(checked, 'payment')} of the last day`
      return { check, state: 'ok', message }
    }
    const message = `${counted(differences.length, 'difference')} from the payment providers: \`tollgate sale check\` lists them`
    return { check, state: 'failed', message }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const message = `${error.message.replace(/\.$/, '')}: check the key at Stripe, or the nodes of the chain (docs/selling.md)`
    return { check, state: 'failed', message }
  }
}

async function checkLooks({ store, clock }: CommandContext): Promise<readonly Finding[]> {
  const { looks } = await saleFigures(store.db)
  return looks.flatMap(({ source, lookedAtMs }): Finding[] => {
    const ageMs = clock.nowMs() - lookedAtMs
    if (ageMs <= LOOK_MS_MAX) return []
    const message = `payments were last read ${durationText(ageMs)} ago: if a server is running, its log says why`
    return [{ check: `sale by ${source}`, state: 'warning', message }]
  })
}

async function checkHeldPurchases({ store }: CommandContext): Promise<readonly Finding[]> {
  const { purchases } = await saleFigures(store.db)
  const held = purchases.filter(({ state }) => state === 'held')
  const count = held.reduce((sum, each) => sum + each.purchases, 0)
  if (count === 0) return []
  const message = `${counted(count, 'purchase')} held until you decide: \`tollgate purchase list --state held\``
  return [{ check: 'purchases', state: 'warning', message }]
}
