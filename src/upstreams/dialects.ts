import type { Dialect } from './upstream.ts'

/** Loads a dialect. */
type Load = () => Promise<Dialect>

/** Every dialect by its name in the settings, loaded where an upstream speaks it. */
export const DIALECTS: ReadonlyMap<string, Load> = new Map<string, Load>([
  ['anthropic', async () => (await import('./anthropic/anthropic.ts')).anthropic],
  ['openai', async () => (await import('./openai/openai.ts')).openai],
  [
    'openai-compatible',
    async () => (await import('./openai-compatible/openai-compatible.ts')).openaiCompatible,
  ],
  ['openrouter', async () => (await import('./openrouter/openrouter.ts')).openrouter],
])

/** The dialect of this name. By position: the name, and all dialects. Rejects if there is none. */
export async function loadDialect(name: string, dialects = DIALECTS): Promise<Dialect> {
  const load = dialects.get(name)
  if (load === undefined) throw new Error(`there is no dialect ${name}`)
  return load()
}
