import { describe } from 'vitest'

/*
 * The parts of the contract that a dialect can change, as one file: a worker loads all of the code for each project, and
 * files of their own would have three workers load it. The rest is tried on OpenRouter's dialect, in every format, and
 * what is counted in `test/dialects/`.
 */
describe('holds', async () => void (await import('./holds.test.ts')))
describe('leaks', async () => void (await import('./leaks.test.ts')))
describe('provider errors', async () => void (await import('./provider-errors.test.ts')))
describe('refusals', async () => void (await import('./refusals.test.ts')))
describe('sent upstream', async () => void (await import('./sent-upstream.test.ts')))
describe('success', async () => void (await import('./success.test.ts')))
