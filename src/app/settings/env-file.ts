/** The fault of a `.env` file that Node would read in another way than it was meant; null: there is none. By position: its bytes, the names of all settings. */
export function envFileFault(bytes: Uint8Array, settings: readonly string[]): string | null {
  // Node would find no name in such a file, and skip all of it silently.
  if (bytes.includes(0)) return 'the file .env cannot be used: save it as UTF-8 text'
  const text = Buffer.from(bytes).toString('utf8')
  // A value in quotes can have several lines.
  const unquoted = text.replace(
    /=[ \t]*(["'`])[\s\S]*?\1/g,
    (value) => `=${value.replace(/[^\n]/g, '')}`,
  )
  const faults = unquoted.split('\n').flatMap((line, place) => {
    const [, name = '', rest = ''] =
      /^\s*(?:export\s+)?([A-Z][A-Z\d_]*)(?!\w)([^\n]*)$/.exec(line) ?? []
    const isSetting = settings.includes(name) || name.startsWith('TOLLGATE_')
    const fault = isSetting ? lineFault(name, rest) : null
    return fault === null ? [] : [`line ${place + 1} ${fault}`]
  })
  return faults.length === 0 ? null : `the file .env cannot be used: ${faults.join('; ')}`
}

/** The fault of a line, without its value, which may be secret. By position: the name of a setting, the text behind it. */
function lineFault(name: string, rest: string): string | null {
  if (!rest.includes('=')) return `has no =: write ${name}=…`
  if (/^\s*=\s*["'`]/.test(rest)) return `has a quote that is not closed: close it`
  if (/^\s*=\s*[^\s#][^#]*(?<=\S)#\S/.test(rest)) {
    return `has a # in the value of ${name}, which begins a comment: put the value in quotes`
  }
  return null
}
