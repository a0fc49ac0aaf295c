/**
 * The text inside a stream's events, found by the names of the members that carry it. It is counted as
 * the events pass, so that a stream cut off before its usage event can still be charged.
 */

/**
 * Makes a finder of the text that stands under these member names, anywhere in an event's data. Data
 * and text are latin-1, one character for each byte of UTF-8; escapes are resolved.
 */
export function streamTextFinder(members: readonly string[]): (data: string) => string {
  const quoted = members.map((member) => `"${member}"`)
  return (data) => {
    let text = ''
    for (const member of quoted) {
      for (let at = data.indexOf(member); at !== -1; at = data.indexOf(member, at + 1)) {
        text += stringAfter(data, at + member.length)
      }
    }
    return text.includes('\\') ? text.replace(ESCAPE, resolveEscape) : text
  }
}

// The raw characters, escapes and all, of the string value after a member name; empty for other values.
function stringAfter(data: string, nameEnd: number): string {
  let at = skipSpaces(data, nameEnd)
  if (data.charCodeAt(at) !== COLON) return ''
  at = skipSpaces(data, at + 1)
  if (data.charCodeAt(at) !== QUOTE) return ''
  const start = at + 1
  for (let end = data.indexOf('"', start); end !== -1; end = data.indexOf('"', end + 1)) {
    if (!isEscaped(data, end)) return data.slice(start, end)
  }
  return ''
}

const QUOTE = 34
const COLON = 58
const BACKSLASH = 92
const SPACE = 32

function skipSpaces(data: string, from: number): number {
  let at = from
  while (data.charCodeAt(at) <= SPACE) at++
  return at
}

function isEscaped(data: string, at: number): boolean {
  let backslashes = 0
  while (data.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}

// Two halves of a pair stand side by side and make one character. The bound keeps the engine's stack.
const ESCAPE = /(?:\\u[0-9a-fA-F]{4}){1,1024}|\\./g

function resolveEscape(source: string): string {
  const letter = source.charAt(1)
  if (letter !== 'u' || source.length === 2) return PLAIN_ESCAPES[letter] ?? letter
  return Buffer.from(String(JSON.parse(`"${source}"`)), 'utf8').toString('latin1')
}

const PLAIN_ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}
