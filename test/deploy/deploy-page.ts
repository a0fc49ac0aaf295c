import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './image-recipe.ts'

const PAGE = readFileSync(join(ROOT, 'docs', 'deploy.md'), 'utf8')

/** The first block of a language in docs/deploy.md that contains this text, unchanged. */
export function deployBlock(language: string, text: string): string {
  for (const [, block = ''] of PAGE.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))) {
    if (block.includes(text)) return block
  }
  throw new Error(`docs/deploy.md has no ${language} block with ${text}`)
}
