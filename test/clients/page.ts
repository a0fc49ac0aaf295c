import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const CLIENTS = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'clients.md'), 'utf8')
/** The address that docs/clients.md has in its lines. */
export const ADDRESS = 'http://127.0.0.1:8787'

/** A block of docs/clients.md: the first of a language that has this word in it. */
interface BlockWanted {
  readonly language: string
  readonly word: string
  /** Stands in it for the address of the page. */
  readonly address: string
}

/** The block that a person would paste. Throws if the page has no such block. */
export function pageBlock({ language, word, address }: BlockWanted): string {
  const blocks = CLIENTS.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))
  for (const [, block = ''] of blocks) {
    if (block.includes(word)) return block.replaceAll(ADDRESS, address)
  }
  throw new Error(`docs/clients.md has no ${language} block with ${word}`)
}

/** Every block of docs/clients.md, unchanged. */
export function pageBlocks(): readonly { readonly language: string; readonly text: string }[] {
  return [...CLIENTS.matchAll(/```(\w+)\n(.*?)\n```/gs)].map(([, language = '', text = '']) => ({
    language,
    text,
  }))
}

/** A row of the table of clients: which address goes into which variables. */
export interface PageRow {
  readonly client: string
  readonly address: string
  readonly variables: readonly string[]
}

/** The rows of the table, with an address of one's own. */
export function pageRows(address: string): readonly PageRow[] {
  return [...CLIENTS.matchAll(/^\| `(.+?)` \| `(.+?)` \|(.*)\|$/gm)].map(
    ([, client = '', shown = '', variables = '']) => ({
      client,
      address: shown.replace(ADDRESS, address),
      variables: [...variables.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    }),
  )
}

/** Whether the page says this. */
export function pageSays(text: string): boolean {
  return CLIENTS.includes(text)
}
