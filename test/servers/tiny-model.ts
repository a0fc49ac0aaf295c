/**
 * A model of a few hundred kilobytes in the format GGUF, version 3: one layer of a llama, whose weights are random and the
 * same each time. What it says means nothing, but it is a model: a server reads a prompt with it, counts tokens and
 * answers.
 */

const WIDTH = 64
const HEADS = 4
const LAYER = 'blk.0.'
const ALIGNMENT_BYTES = 32
/** Numbers of GGUF's types of values. */
const U32 = 4
const I32 = 5
const F32 = 6
const BOOL = 7
const TEXT = 8
const LIST = 9
/** Kinds of tokens: a text, the unknown one, one that steers, and one byte. */
const [NORMAL, UNKNOWN, CONTROL, BYTE] = [1, 2, 3, 6] as const

const BYTES = Array.from({ length: 256 }, (_, byte) => {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`
})
const TEXTS = ['\u2581', ...'abcdefghijklmnopqrstuvwxyz', ...'abcdefghijklmnopqrstuvwxyz'].map(
  (letter, index) => (index > 26 ? `\u2581${letter}` : letter),
)
const TOKENS = ['<unk>', '<s>', '</s>', ...BYTES, ...TEXTS]
const FIRST_TEXT = TOKENS.length - TEXTS.length
const KINDS = TOKENS.map((_, index) => {
  if (index === 0) return UNKNOWN
  if (index < 3) return CONTROL
  return index < FIRST_TEXT ? BYTE : NORMAL
})

const TEMPLATE = `{% for message in messages %}{{ message['role'] }} {{ message['content'] }} {% endfor %}`

interface Tensor {
  readonly name: string
  readonly sizes: readonly number[]
  readonly numbers: Float32Array
}

/** The bytes of the model's file. */
export function tinyModel(): Buffer {
  const random = randomNumbers()
  const tensors = tensorsOf(random)
  const values = [
    ...[text('general.architecture', 'llama'), text('general.name', 'tiny')],
    ...[u32('llama.context_length', 2048), u32('llama.embedding_length', WIDTH)],
    ...[u32('llama.block_count', 1), u32('llama.feed_forward_length', WIDTH)],
    ...[u32('llama.attention.head_count', HEADS), u32('llama.attention.head_count_kv', HEADS)],
    ...[u32('llama.rope.dimension_count', WIDTH / HEADS), u32('llama.vocab_size', TOKENS.length)],
    value('llama.attention.layer_norm_rms_epsilon', F32, float(1e-5)),
    ...[text('tokenizer.ggml.model', 'llama'), text('tokenizer.chat_template', TEMPLATE)],
    list('tokenizer.ggml.tokens', TEXT, TOKENS.map(string)),
    // Longer texts score higher, so that a space and its letter are one token.
    list(
      'tokenizer.ggml.scores',
      F32,
      TOKENS.map((token) => float(token.length)),
    ),
    list('tokenizer.ggml.token_type', I32, KINDS.map(int)),
    ...[u32('tokenizer.ggml.bos_token_id', 1), u32('tokenizer.ggml.eos_token_id', 2)],
    u32('tokenizer.ggml.unknown_token_id', 0),
    value('tokenizer.ggml.add_bos_token', BOOL, Buffer.of(1)),
  ]
  const infos: Buffer[] = []
  const data: Buffer[] = []
  let offset = 0
  for (const { name, sizes, numbers } of tensors) {
    infos.push(string(name), int(sizes.length), ...sizes.map(long), int(0), long(offset))
    const bytes = padded(Buffer.from(numbers.buffer))
    data.push(bytes)
    offset += bytes.length
  }
  const counts = [long(tensors.length), long(values.length)]
  const head = [Buffer.from('GGUF'), int(3), ...counts, ...values, ...infos]
  return Buffer.concat([padded(Buffer.concat(head)), ...data])
}

function tensorsOf(random: () => number): readonly Tensor[] {
  const weights = (name: string, ...sizes: readonly number[]): Tensor => {
    const count = sizes.reduce((product, size) => product * size, 1)
    return { name: `${name}.weight`, sizes, numbers: Float32Array.from({ length: count }, random) }
  }
  const ones = (name: string): Tensor => {
    return { name: `${name}.weight`, sizes: [WIDTH], numbers: new Float32Array(WIDTH).fill(1) }
  }
  const output = weights('output', WIDTH, TOKENS.length)
  // Only text: its output is valid UTF-8, and ends where the request says.
  output.numbers.fill(0, 0, FIRST_TEXT * WIDTH)
  return [
    weights('token_embd', WIDTH, TOKENS.length),
    ones('output_norm'),
    output,
    ones(`${LAYER}attn_norm`),
    ...['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'].map((name) =>
      weights(`${LAYER}${name}`, WIDTH, WIDTH),
    ),
    ones(`${LAYER}ffn_norm`),
  ]
}

/** Numbers between -1 and 1, the same in every run. */
function randomNumbers(): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 31 - 1
  }
}

function padded(bytes: Buffer): Buffer {
  const missing = -bytes.length & (ALIGNMENT_BYTES - 1)
  return Buffer.concat([bytes, Buffer.alloc(missing)])
}

function value(key: string, type: number, bytes: Buffer): Buffer {
  return Buffer.concat([string(key), int(type), bytes])
}

function text(key: string, content: string): Buffer {
  return value(key, TEXT, string(content))
}

function u32(key: string, number: number): Buffer {
  return value(key, U32, int(number))
}

function list(key: string, type: number, items: readonly Buffer[]): Buffer {
  return value(key, LIST, Buffer.concat([int(type), long(items.length), ...items]))
}

function string(content: string): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([long(bytes.length), bytes])
}

function int(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(number)
  return bytes
}

function long(number: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(number))
  return bytes
}

function float(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(number)
  return bytes
}
