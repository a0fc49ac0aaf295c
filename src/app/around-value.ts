/** Characters around a value that were not typed on purpose, because a file or shell was read in an unintended way. */
type Around = 'lineBreak' | 'quotes' | 'space'

/** The characters around a value; null: there are none. */
export function aroundValue(value: string): Around | null {
  if (/^[\r\n]|[\r\n]$/.test(value)) return 'lineBreak'
  if (/^(["'`])(?:(?!\1).)*\1$/s.test(value)) return 'quotes'
  return value === value.trim() ? null : 'space'
}

/** The fault of a value with something around it, to follow the name of the setting. */
export const AROUND_FAULTS: Readonly<Record<Around, string>> = {
  lineBreak:
    'begins or ends with a line break: remove it. A file with Windows line ends has one in each line: save it with Unix line ends',
  quotes: 'is in quotes, which are read as a part of the value: remove them',
  space: 'begins or ends with a space: remove it',
}
