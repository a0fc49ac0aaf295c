import { posix } from 'node:path'
import type { SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

/** A line of a Markdown file outside of its code blocks. */
export interface ProseLine {
  readonly text: string
  readonly line: number
}

/** A fenced code block. */
export interface CodeBlock {
  /** The word after the fence; empty where there is none. */
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
export function checkTitles(files: readonly SourceFile[]): Violation[] {
  return files.filter(isMarkdown).flatMap(({ path, text }) => {
    const { prose } = readMarkdown(text)
    const titles = prose.filter((line) => /^# \S/.test(line.text))
    const first = prose.find((line) => line.text.trim() !== '')
    if (titles.length === 1 && first?.line === titles[0]?.line) return []
    return [
      { path, line: titles[1]?.line ?? 1, message: 'opens with one "# Title" and has no other' },
    ]
  })
}

interface Link extends ProseLine {
  readonly target: string
}

function linksOf(text: string): Link[] {
  return readMarkdown(text).prose.flatMap((line) => {
    // What stands in backticks shows a link and is none.
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
  const violations: Violation[] = []
  for (const file of files.filter(isMarkdown)) {
    for (const { target, line } of linksOf(file.text)) {
      if (/^[a-z][a-z+.-]*:/i.test(target)) continue
      const message = objection({ path: file.path, target, texts })
      if (message !== null) violations.push({ path: file.path, line, message })
    }
  }
  return violations
}

interface LinkInput {
  readonly path: string
  readonly target: string
  readonly texts: ReadonlyMap<string, string>
}

function objection({ path, target, texts }: LinkInput): string | null {
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

// Files at the root that no rule reads, and that a page may name.
const UNREAD_FILES = new Set(['LICENSE', '.npmrc', 'biome.json', 'tsconfig.json'])

/** The anchors of a file's headings, as the usual hosts of Markdown make them. */
function headingsOf(text: string): Set<string> {
  const anchors = readMarkdown(text).prose.flatMap((line) => {
    const [, title] = /^#{1,6} (.+)$/.exec(line.text) ?? []
    if (title === undefined) return []
    return [
      title
        .trim()
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ]
  })
  return new Set(anchors)
}
