import { isServerCode, type SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

/** The folder of each dialect, and the words of its provider: they stand nowhere else in `src/`. */
const WORDS_BY_FOLDER: Readonly<Record<string, RegExp>> = {
  'src/upstreams/openrouter/':
    /openrouter:|\bgen-|x-generation-id|\/generation\b|cloudflare-ai|native_tokens_|is_byok|server_tool_use_details|output_modalities=/,
}

/**
 * What a provider calls things is known to its dialect alone, so that another dialect can be added and this
 * one taken out without a look at the rest.
 */
export function checkDialectWords(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files.filter(isServerCode)) {
    for (const [folder, words] of Object.entries(WORDS_BY_FOLDER)) {
      if (file.path.startsWith(folder)) continue
      for (const [at, line] of file.text.split('\n').entries()) {
        const [word] = words.exec(line) ?? []
        if (word === undefined) continue
        const message = `${word} is a provider's word: it belongs into ${folder}`
        violations.push({ path: file.path, line: at + 1, message })
      }
    }
  }
  return violations
}
