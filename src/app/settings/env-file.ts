/** The fault of the lines of `.env` that begin with a setting and have no `=`, which Node skips silently; null: there are none. */
export function skippedSettings(text: string, settings: readonly string[]): string | null {
  // A value in quotes can have several lines.
  const unquoted = text.replace(
    /=[ \t]*(["'`])[\s\S]*?\1/g,
    (value) => `=${value.replace(/[^\n]/g, '')}`,
  )
  const faults = unquoted.split('\n').flatMap((line, place) => {
    const [, name = ''] = /^\s*(?:export\s+)?([A-Z][A-Z\d_]*)(?![\w=])[^=]*$/.exec(line) ?? []
    const isSetting = settings.includes(name) || name.startsWith('TOLLGATE_')
    return isSetting ? [`line ${place + 1} has no =: write ${name}=…`] : []
  })
  return faults.length === 0 ? null : `the file .env cannot be used: ${faults.join('; ')}`
}
