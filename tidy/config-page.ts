import { readMarkdown } from './markdown.ts'
import type { SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

/** What the page must say of a setting. */
export interface DocumentedSetting {
  /** As text; null: unset means something of its own, told in the description. */
  readonly fallback: string | null
  readonly description: string
}

const CONFIG_PAGE = 'docs/config.md'

/** The page of settings says what the settings say of themselves, of all of them and no others. */
export function checkConfigPage(
  files: readonly SourceFile[],
  settings: Readonly<Record<string, DocumentedSetting>>,
): Violation[] {
  const page = files.find(({ path }) => path === CONFIG_PAGE)
  if (page === undefined) return [{ path: CONFIG_PAGE, line: null, message: 'is missing' }]
  const violations: Violation[] = []
  const documented = new Set<string>()
  for (const { text, line } of readMarkdown(page.text).prose) {
    const [, name, told = ''] = /^\| *`(\w+)` *\| *(.*?) *\| *$/.exec(text) ?? []
    if (name === undefined) continue
    const message = documented.has(name) ? 'stands twice' : objection(told, settings[name])
    documented.add(name)
    if (message !== null) {
      violations.push({ path: CONFIG_PAGE, line, message: `${name}: ${message}` })
    }
  }
  const missing = Object.keys(settings).filter((name) => !documented.has(name))
  return [
    ...violations,
    ...missing.map((name) => ({ path: CONFIG_PAGE, line: null, message: `${name}: has no row` })),
  ]
}

function objection(told: string, setting: DocumentedSetting | undefined): string | null {
  if (setting === undefined) return 'no setting has this name'
  const expected = `${defaultCell(setting)} | ${setting.description}`
  return told === expected ? null : `says "${told}"; the setting says "${expected}"`
}

/** A default as the page shows it; a dash where there is none. */
function defaultCell({ fallback }: DocumentedSetting): string {
  return fallback === null || fallback === '' ? '-' : `\`${fallback}\``
}
