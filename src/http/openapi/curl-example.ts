import type { Access, DocumentedOperation } from './document.ts'
import { EXAMPLES } from './examples.ts'

const HEADERS: Readonly<Record<Access, string | null>> = {
  key: '-H "authorization: Bearer $API_KEY"',
  admin: '-H "authorization: Bearer $ADMIN_API_TOKEN"',
  none: null,
}

// A model's id is two parameters of a path; the others are variables of the reader's shell.
const MODEL_ID: Readonly<Record<string, string>> = { author: 'sim', name: 'text' }

/**
 * A command line that does an operation, for a shell in which `GATEWAY`, the key or token, and the
 * parameters of the path are set.
 */
export function curlExample({ name, method, path, access }: DocumentedOperation): string {
  const place = path.replace(
    /\{(\w+)\}/g,
    (_, parameter: string) => MODEL_ID[parameter] ?? `$${parameter.toUpperCase()}`,
  )
  const example = EXAMPLES.get(name)
  const verb = example === undefined ? 'GET' : 'POST'
  const words = [
    method.toUpperCase() === verb ? 'curl' : `curl -X ${method.toUpperCase()}`,
    `"$GATEWAY${place}"`,
  ]
  const header = HEADERS[access]
  const lines = [words.join(' '), ...(header === null ? [] : [header])]
  if (example !== undefined) lines.push(`-d '${JSON.stringify(example)}'`)
  return lines.join(' \\\n  ')
}
