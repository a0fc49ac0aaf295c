import { expect } from 'vitest'
import type { Bench } from './bench.ts'
import { OWNERS } from './random-script.ts'

/** The lines of a script whose commits were confirmed. */
function acknowledged(answers: string) {
  const opened = new Set<string>()
  const settled = new Map<string, string>()
  const credits = new Set<string>()
  for (const line of answers.split('\n')) {
    const [action = '', answer = ''] = line.split('→').map((text) => text.trim())
    const [kind, id = '', , , reference] = action.split(/\s+/)
    if (kind === 'open' && answer.startsWith('opened')) opened.add(id)
    if (kind === 'settle' && /^(final|provisional|released|unresolved) \d+/.test(answer)) {
      settled.set(id, settled.get(id) ?? answer.split(' ').slice(0, 2).join(' '))
    }
    if (kind === 'credit' && answer.startsWith('added'))
      credits.add(`${action.split(/\s+/)[1]} ${reference}`)
  }
  return { opened, settled, credits }
}

/** Expects that a store has every request and credit whose commit was confirmed. By position: the store, the answered script. */
export async function expectAcknowledged(bench: Bench, answers: string): Promise<void> {
  const { opened, settled, credits } = acknowledged(answers)
  for (const id of opened) expect(await bench.request(id), id).toBeDefined()
  for (const [id] of settled) expect((await bench.request(id))?.state, id).not.toBe('open')
  for (const account of new Set(OWNERS.values())) {
    const entries = await bench.entries(account)
    const references = new Set(entries.map(({ reference }) => `${account} ${reference}`))
    for (const credit of credits) {
      if (credit.startsWith(`${account} `)) expect(references).toContain(credit)
    }
  }
}
