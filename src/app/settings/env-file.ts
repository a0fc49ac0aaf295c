/** The fault of a `.env` file that Node would read in another way than it was meant; null: there is none. By position: its bytes, the names of all settings. */
export function envFileFault(bytes: Uint8Array, settings: readonly string[]): string | null {
  // Node would find no name in such a file, and skip all of it silently.
  if (bytes.includes(0)) return 'the file .env cannot be used: save it as UTF-8 text'
  const text = Buffer.from(bytes).toString('utf8')
  const isSetting = (name: string) => settings.includes(name) || name.startsWith('TOLLGATE_')
  const faults = [...text.matchAll(ENTRY)].flatMap(({ 0: entry, 2: behind = null, index }) => {
    const fault = entryFault({ lines: entry.split('\n'), behind, isSetting })
    return fault === null ? [] : [`line ${text.slice(0, index).split('\n').length} ${fault}`]
  })
  return faults.length === 0 ? null : `the file .env cannot be used: ${faults.join('; ')}`
}

/** A line as Node reads it, or the lines of a value in quotes: the quote, and the text behind the closing one. */
const ENTRY = /^(?![ \t]*#)[^=\n]*=[ \t]*(["'`])[\s\S]*?\1([^\n]*)$|^[^\n]*$/gm

/** A line that begins with a name: the name, and the text behind it. */
const NAMED_LINE = /^\s*(?:export\s+)?([A-Z][A-Z\d_]*)(?!\w)([^\n]*)$/

interface Entry {
  readonly lines: readonly string[]
  /** The text behind the closing quote, which Node drops; null: the value is not in quotes. */
  readonly behind: string | null
  readonly isSetting: (name: string) => boolean
}

function entryFault({ lines: [first = '', ...later], behind, isSetting }: Entry): string | null {
  const [, name = '', rest = ''] = NAMED_LINE.exec(first) ?? []
  // The quote that closes the value may be meant to open a later one.
  const isAssigned = (line: string) => {
    const [, other = '', value = ''] = NAMED_LINE.exec(line) ?? []
    return isSetting(other) && /^\s*=/.test(value)
  }
  if (later.some(isAssigned)) return NOT_CLOSED
  if (!isSetting(name)) return null
  if (behind === null) return lineFault(name, rest)
  if (/^\s*(?:#|$)/.test(behind)) return null
  return later.length > 0
    ? NOT_CLOSED
    : `has text behind the closing quote of ${name}, which would be lost: put the whole value in quotes that it does not contain`
}

const NOT_CLOSED = 'has a quote that is not closed: close it'

/** The fault of a line, without its value, which may be secret. By position: the name of a setting, the text behind it. */
function lineFault(name: string, rest: string): string | null {
  if (!rest.includes('=')) return `has no =: write ${name}=…`
  if (/^\s*=\s*["'`]/.test(rest)) return NOT_CLOSED
  if (/^\s*=\s*[^\s#][^#]*(?<=\S)#\S/.test(rest)) {
    return `has a # in the value of ${name}, which begins a comment: put the value in quotes`
  }
  return null
}
