import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { listen } from '../src/vocabulary/testing/listen.ts'

/** A span as a collector was sent it. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty: it has none. */
  readonly parentSpanId: string
  readonly name: string
  /** As OTLP numbers them: 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, unknown>>
  /** 0 unset, 1 ok, 2 error. */
  readonly statusCode: number
  /** The resource attributes of the server that sent it. */
  readonly resource: Readonly<Record<string, unknown>>
}

/** The points of a histogram as a collector was sent it, each with its attributes. */
interface CollectedPoint {
  /** The name of the histogram. */
  readonly name: string
  readonly unit: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly count: number
  readonly sum: number
  readonly bounds: readonly number[]
  /** The resource attributes of the server that sent it. */
  readonly resource: Readonly<Record<string, unknown>>
}

/** An OpenTelemetry collector on a real port, that takes traces and metrics as OTLP over HTTP in protobuf. */
export interface OtlpCollector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint: string
  readonly spans: readonly CollectedSpan[]
  /** The points of the latest export of metrics. */
  readonly points: readonly CollectedPoint[]
  /** The path and the headers of each batch. */
  readonly batches: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[]
  /** Every byte that was sent, as text. */
  readonly received: string
  /** Its status from now on. Default: 200. */
  answerWith(httpStatus: number): void
  close(): Promise<void>
}

export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = []
  const batches: { path: string; headers: IncomingHttpHeaders }[] = []
  let points: readonly CollectedPoint[] = []
  let received = ''
  let httpStatus = 200
  const server = createServer(async (batch, reply) => {
    const chunks: Buffer[] = []
    for await (const chunk of batch) chunks.push(chunk)
    const bytes = Buffer.concat(chunks)
    received += bytes.toString('latin1')
    batches.push({ path: batch.url ?? '', headers: batch.headers })
    if (httpStatus === 200) {
      if (batch.url === '/v1/metrics') points = readMetrics(bytes)
      else spans.push(...readBatch(bytes))
    }
    reply.writeHead(httpStatus, { 'content-type': 'application/x-protobuf' }).end()
  })
  const port = await listen(server)
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    batches,
    get points() {
      return points
    },
    get received() {
      return received
    },
    answerWith(answered) {
      httpStatus = answered
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The fields of a protobuf message by their numbers: bytes where they have a length, else integers. */
type Message = ReadonlyMap<number, readonly (Buffer | bigint)[]>

// Numbers of the fields, from the definition of OTLP.
function readBatch(bytes: Buffer): CollectedSpan[] {
  return messagesAt(readMessage(bytes), 1).flatMap((resourceSpans) => {
    const [resource] = messagesAt(resourceSpans, 1)
    const attributes = resource === undefined ? {} : attributesAt(resource, 1)
    return messagesAt(resourceSpans, 2)
      .flatMap((scopeSpans) => messagesAt(scopeSpans, 2))
      .map((span) => readSpan(span, attributes))
  })
}

function readSpan(span: Message, resource: Readonly<Record<string, unknown>>): CollectedSpan {
  const [status] = messagesAt(span, 15)
  return {
    traceId: bytesAt(span, 1).toString('hex'),
    spanId: bytesAt(span, 2).toString('hex'),
    parentSpanId: bytesAt(span, 4).toString('hex'),
    name: bytesAt(span, 5).toString(),
    kind: integerAt(span, 6),
    startMs: integerAt(span, 7) / 1_000_000,
    endMs: integerAt(span, 8) / 1_000_000,
    attributes: attributesAt(span, 9),
    statusCode: status === undefined ? 0 : integerAt(status, 3),
    resource,
  }
}

function readMetrics(bytes: Buffer): CollectedPoint[] {
  return messagesAt(readMessage(bytes), 1).flatMap((resourceMetrics) => {
    const [resource] = messagesAt(resourceMetrics, 1)
    const of = resource === undefined ? {} : attributesAt(resource, 1)
    return messagesAt(resourceMetrics, 2)
      .flatMap((scopeMetrics) => messagesAt(scopeMetrics, 2))
      .flatMap((metric) => readPoints(metric, of))
  })
}

function readPoints(
  metric: Message,
  resource: Readonly<Record<string, unknown>>,
): readonly CollectedPoint[] {
  const [name, unit] = [bytesAt(metric, 1).toString(), bytesAt(metric, 3).toString()]
  const points = messagesAt(metric, 9).flatMap((histogram) => messagesAt(histogram, 1))
  return points.map((point) => {
    const bounds = bytesAt(point, 7)
    return {
      ...{ name, unit, resource },
      attributes: attributesAt(point, 9),
      count: integerAt(point, 4),
      sum: doubleOf(point.get(5)?.[0]),
      bounds: Array.from({ length: bounds.length / 8 }, (_, at) => bounds.readDoubleLE(at * 8)),
    }
  })
}

function attributesAt(message: Message, field: number): Record<string, unknown> {
  return Object.fromEntries(
    messagesAt(message, field).map((pair) => {
      const [value] = messagesAt(pair, 2)
      return [bytesAt(pair, 1).toString(), value === undefined ? null : readValue(value)]
    }),
  )
}

function readValue(value: Message): unknown {
  if (value.has(1)) return bytesAt(value, 1).toString()
  if (value.has(2)) return integerAt(value, 2) === 1
  if (value.has(3)) return integerAt(value, 3)
  return value.has(4) ? doubleOf(value.get(4)?.[0]) : null
}

function doubleOf(value: Buffer | bigint = 0n): number {
  const bits = Buffer.alloc(8)
  bits.writeBigUInt64LE(BigInt(value.toString()))
  return bits.readDoubleLE()
}

function messagesAt(message: Message, field: number): Message[] {
  const values = message.get(field) ?? []
  return values.filter((value) => Buffer.isBuffer(value)).map(readMessage)
}

function bytesAt(message: Message, field: number): Buffer {
  const value = message.get(field)?.[0]
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0)
}

function integerAt(message: Message, field: number): number {
  return Number(message.get(field)?.[0] ?? 0)
}

function readMessage(bytes: Buffer): Message {
  const message = new Map<number, (Buffer | bigint)[]>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Buffer => {
    at += length
    if (at > bytes.length) throw new Error('the message ends early')
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const value = readField(tag & 7, { varint, take })
    message.set(tag >> 3, [...(message.get(tag >> 3) ?? []), value])
  }
  return message
}

interface Source {
  readonly varint: () => bigint
  readonly take: (length: number) => Buffer
}

function readField(wireType: number, { varint, take }: Source): Buffer | bigint {
  switch (wireType) {
    case 0:
      return varint()
    case 1:
      return take(8).readBigUInt64LE()
    case 2:
      return take(Number(varint()))
    case 5:
      return BigInt(take(4).readUInt32LE())
    default:
      throw new Error(`no such wire type: ${wireType}`)
  }
}
