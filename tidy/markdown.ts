import { posix } from 'node:path'
import { PICTURES, picturePath } from '../test/pictures.ts'
import { type Fault, fileRule, type SourceFile, type Violation } from './source-tree.ts'

/** A line of a Markdown file outside of its code blocks. */
export interface ProseLine {
  readonly text: string
  readonly line: number
}

/** A fenced code block. */
interface CodeBlock {
  /** The word after the fence; empty if there is none. */
  readonly language: string
  readonly lines: readonly ProseLine[]
}

/** Whether a file is Markdown. */
function isMarkdown({ path }: SourceFile): boolean {
  return path.endsWith('.md')
}

/** A Markdown file, its code blocks apart from its prose. */
export function readMarkdown(text: string): { prose: ProseLine[]; blocks: CodeBlock[] } {
  const prose: ProseLine[] = []
  const blocks: CodeBlock[] = []
  let open: { fence: string; lines: ProseLine[] } | null = null
  for (const [index, content] of text.split('\n').entries()) {
    const [, fence, language = ''] = /^\s*(`{3,}|~{3,})\s*(\S*)/.exec(content) ?? []
    const line = { text: content, line: index + 1 }
    if (open === null && fence !== undefined) {
      open = { fence, lines: [] }
      blocks.push({ language, lines: open.lines })
    } else if (open === null) prose.push(line)
    else if (fence?.startsWith(open.fence)) open = null
    else open.lines.push(line)
  }
  return { prose, blocks }
}

/** Every Markdown file opens with its one `# Title`. */
export const checkTitles = fileRule(isMarkdown, ({ text }): Fault[] => {
  const { prose } = readMarkdown(text)
  const titles = prose.filter((line) => /^# \S/.test(line.text))
  const first = prose.find((line) => line.text.trim() !== '')
  if (titles.length === 1 && first?.line === titles[0]?.line) return []
  return [[titles[1]?.line ?? 1, 'opens with one "# Title" and has no other']]
})

function linksOf(text: string) {
  return readMarkdown(text).prose.flatMap((line) => {
    // Text in backticks shows a link but is not one.
    const words = line.text.replace(/`[^`]*`/g, '')
    const targets = [
      ...words.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g),
      ...words.matchAll(/^\[[^\]]+\]:\s*<?([^\s>]+)>?/g),
    ]
    return targets.map(([, target = '']) => ({ ...line, target }))
  })
}

/** Every relative link names a file, folder or heading that is there. */
export function checkLinks(files: readonly SourceFile[]): Violation[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const check = fileRule(isMarkdown, ({ path, text }) =>
    linksOf(text).flatMap(({ target, line }): Fault[] => {
      const message = /^[a-z][a-z+.-]*:/i.test(target) ? null : objection({ path, target, texts })
      return message === null ? [] : [[line, message]]
    }),
  )
  return check(files)
}

function objection(link: {
  readonly path: string
  readonly target: string
  readonly texts: ReadonlyMap<string, string>
}): string | null {
  const { path, target, texts } = link
  const [place = '', heading] = target.split('#')
  const named = place === '' ? path : posix.join(posix.dirname(path), place).replace(/\/$/, '')
  const text = texts.get(named)
  const isFolder = [...texts.keys()].some((other) => other.startsWith(`${named}/`))
  if (text === undefined && !isFolder && !UNREAD_FILES.has(named)) {
    return `links to ${target}, which is not there`
  }
  if (heading === undefined || (text !== undefined && headingsOf(text).has(heading))) return null
  return `links to ${target}, which has no such heading`
}

// Files that no rule reads, and that a page may name. The test of README looks at each picture.
const UNREAD_FILES: ReadonlySet<string> = new Set([
  ...['LICENSE', '.npmrc', 'biome.json', 'tsconfig.json'],
  ...Object.keys(PICTURES).map((name) => picturePath(name, 'light')),
])

/** The anchors of a file's headings, as the usual hosts of Markdown make them. */
function headingsOf(text: string): Set<string> {
  const anchors = readMarkdown(text).prose.flatMap((line) => {
    const [, title = ''] = /^#{1,6} (.+)$/.exec(line.text) ?? []
    const kept = title.trim().toLowerCase()
    return kept.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-') || []
  })
  return new Set(anchors)
}

const CHANGELOG = 'CHANGELOG.md'

/** In this order, each at most once a version. */
const BUCKETS: readonly string[] = ['Upgrade notes', 'Added', 'Changed', 'Fixed']

/** The changelog has the version of package.json on top, each version its date, and its changes in four buckets. */
export function checkChangelog(files: readonly SourceFile[]): Violation[] {
  const changelog = files.find(({ path }) => path === CHANGELOG)
  if (changelog === undefined) return [{ path: CHANGELOG, line: null, message: 'is missing' }]
  const manifest = files.find(({ path }) => path === 'package.json')
  const { version }: { version?: string } = JSON.parse(manifest?.text ?? '{}')
  const violations: Violation[] = []
  const add = (line: number, message: string) => violations.push({ path: CHANGELOG, line, message })
  let versions = 0
  let nextBucket = 0
  const beginnings = new Map<string, number>()
  for (const { text, line } of readMarkdown(changelog.text).prose) {
    const [, marks, title = ''] = /^(##+) (.+)$/.exec(text) ?? []
    if (marks === '##') {
      versions += 1
      nextBucket = 0
      beginnings.clear()
      const [, named] = /^(\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$/.exec(title) ?? []
      if (named === undefined) add(line, `"${title}" is no version with its date`)
      else if (versions === 1 && named !== version)
        add(line, `"${named}" is on top, and package.json has ${version}`)
    } else if (marks === '###') {
      const bucket = BUCKETS.indexOf(title)
      if (bucket < nextBucket)
        add(line, `"${title}": the buckets are ${BUCKETS.join(', ')}, in this order`)
      nextBucket = bucket + 1
    } else if (text.startsWith('- ')) {
      // As a merge leaves an entry that two changes reworded.
      const beginning = text.slice(0, ENTRY_BEGINNING_CHARS)
      const earlier = beginnings.get(beginning)
      if (earlier !== undefined) add(line, `begins as the entry on line ${earlier} does`)
      beginnings.set(beginning, line)
    }
  }
  if (versions === 0) add(1, 'has no version')
  return violations
}

const ENTRY_BEGINNING_CHARS = 36

/** The alerts and queries in code blocks of the docs ask for metrics that exist. */
export function checkAlerts(
  files: readonly SourceFile[],
  metrics: Readonly<Record<string, unknown>>,
): Violation[] {
  const check = fileRule(
    ({ path }) => path.startsWith('docs/'),
    ({ text }) =>
      readMarkdown(text)
        .blocks.flatMap(({ lines }) => lines)
        .flatMap((code) =>
          [...code.text.matchAll(/\btollgate_\w+/g)]
            .filter(([name]) => !Object.hasOwn(metrics, name.replace(/_(?:bucket|sum|count)$/, '')))
            .map(([name]) => [code.line, `${name}: no metric has this name`] as const),
        ),
  )
  return check(files)
}

/** Each alert of docs/metrics.md has a row in docs/troubleshooting.md, which says what to do. */
export function checkAlertRows(files: readonly SourceFile[]): Violation[] {
  const path = 'docs/metrics.md'
  const textOf = (page: string): string => files.find((file) => file.path === page)?.text ?? ''
  const rows = textOf('docs/troubleshooting.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ')[0] ?? '')
  return [...textOf(path).matchAll(/- alert: (\w+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !rows.some((row) => row.includes(`\`${name}\``)))
    .map((name) => ({ path, line: null, message: `${name}: docs/troubleshooting.md has no row` }))
}
