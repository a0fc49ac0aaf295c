import { createInterface } from 'node:readline'

/** An MCP server on standard input and output, with one tool, which an agent starts. */

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  // Notifications have no id, and no answer.
  if (id === undefined) continue
  const result = answerTo(method, params)
  const answer =
    result === null ? { error: { code: -32601, message: 'no such method' } } : { result }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`)
}

function answerTo(method: string, params: ReturnType<typeof JSON.parse>): object | null {
  switch (method) {
    case 'initialize': {
      const serverInfo = { name: 'ferry', version: '1.0.0' }
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
    }
    case 'tools/list': {
      const inputSchema = { type: 'object', properties: { quay: { type: 'string' } } }
      return { tools: [{ name: 'departures', description: 'When a ferry leaves', inputSchema }] }
    }
    case 'tools/call':
      return { content: [{ type: 'text', text: `Leaves ${params.arguments.quay} at nine` }] }
    default:
      return null
  }
}
