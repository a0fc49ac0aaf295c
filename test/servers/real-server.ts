import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../../src/store/testing/free-port.ts'
import { LOG_LIMITS } from '../hang-limits.ts'
import { MemoryLog } from '../memory-log.ts'
import { tinyModel } from './tiny-model.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The paths of the programs, and an empty folder. */
    servers: { readonly folder: string; readonly bin: string }
  }
}

/** A model server in its own process. */
export interface RealServer {
  /** With `/v1`. */
  readonly baseUrl: string
  stop(): Promise<void>
}

/** The key that LiteLLM's proxy asks for. */
export const LITELLM_KEY = 'sk-of-the-proxy'

interface Place {
  readonly folder: string
  readonly bin: string
}

const MOCKS = [
  ['mock-chat', 'openai/gpt-4o-mini', '"Hello from a mock of a model, word for word."'],
  ['mock-slow', 'openai/gpt-4o-mini', '"Too late.", mock_delay: 600'],
  ['mock-embed', 'openai/text-embedding-3-small', '[0.1, 0.2, 0.3]'],
  ['mock-limited', 'openai/gpt-4o-mini', 'litellm.RateLimitError'],
  ['mock-broken', 'openai/gpt-4o-mini', 'litellm.InternalServerError'],
] as const

/** Starts LiteLLM's proxy with its mocks of models. */
export async function startLitellm({ folder, bin }: Place): Promise<RealServer> {
  const port = await freePort()
  const config = join(folder, 'litellm.yaml')
  const models = MOCKS.map(
    ([name, model, answer]) =>
      `  - model_name: ${name}\n    litellm_params: { model: ${model}, api_key: none, mock_response: ${answer} }`,
  )
  const settings = ['litellm_settings: { num_retries: 0 }', 'general_settings:']
  const lines = ['model_list:', ...models, ...settings, `  master_key: ${LITELLM_KEY}`]
  writeFileSync(config, `${lines.join('\n')}\n`)
  const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port)]
  return await served({
    folder,
    program: join(bin, 'litellm'),
    args,
    port,
    line: 'Uvicorn running',
  })
}

const LLAMA_SERVER = `
import sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ['127.0.0.1']
params.port = int(sys.argv[2])
params.embedding = sys.argv[3] == 'embeddings'
if params.embedding:
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
params.n_parallel = 2
params.n_ctx = 2 * 8192
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
print('serving', flush=True)
sys.stdin.read()
`

/**
 * Starts llama.cpp's server with a tiny model, which either answers or embeds. It is that of xllamacpp, which is compiled:
 * PyPI has llama-cpp-python as source only.
 */
export async function startLlama(
  { folder, bin }: Place,
  does: 'answers' | 'embeddings',
): Promise<RealServer> {
  const port = await freePort()
  const model = join(folder, `tiny-${does}.gguf`)
  const script = join(folder, 'llama.py')
  writeFileSync(model, tinyModel())
  writeFileSync(script, LLAMA_SERVER)
  const args = [script, model, String(port), does]
  return await served({ folder, program: join(bin, 'python'), args, port, line: 'serving' })
}

interface Program {
  readonly folder: string
  readonly program: string
  readonly args: readonly string[]
  readonly port: number
  /** A text of the line that it prints once it serves. */
  readonly line: string
}

/** Starts a program and resolves once it serves. Rejects with its output if it ends before. */
async function served({ folder, program, args, port, line }: Program): Promise<RealServer> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(program, [...args], {
    cwd: folder,
    // The prices of its models come with the package: it calls no other site.
    env: { PATH, HOME, LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
  })
  const ended = once(child, 'exit')
  // Python may load for a minute before it says anything.
  const log = new MemoryLog({ ...LOG_LIMITS, quiet: LOG_LIMITS.whole })
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (text) => log.write(text))
  }
  const isServed = await Promise.race([log.logged(line), ended.then(() => null)])
  if (isServed === null) throw new Error(`${program} ended: ${log.lines.join('\n')}`)
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
