import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { build, type Plugin } from 'vite'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of this run's bundles: a file for each of {@link PROGRAMS}. */
    readonly bundles: string
  }
}

const ROOT = join(import.meta.dirname, '..')

/** Programs that tests start as separate processes, again and again. */
const PROGRAMS = {
  tollgate: 'src/main.ts',
  'killed-look': 'test/chain/killed-look.ts',
  'killed-card-look': 'test/crash/killed-card-look.ts',
} as const

/** The name of a program that is bundled. */
export type BundledProgram = keyof typeof PROGRAMS

/** The threads that these programs start, by `new URL('./….ts', import.meta.url)`. */
const THREADS = [
  'src/ledger/activity/sqlite-pruner.ts',
  'src/ledger/engines/sqlite-writer.ts',
  'src/store/sqlite/sqlite-statements.ts',
]

/**
 * Makes one file of each program, once a run: most of a start of the checkout is to find and to compile a thousand
 * files. Other files that they read stay in their places.
 */
export default async function setup({ provide }: TestProject): Promise<() => void> {
  const builds = join(ROOT, 'build')
  mkdirSync(builds, { recursive: true })
  const outDir = mkdtempSync(join(builds, 'programs-'))
  const entries = {
    ...PROGRAMS,
    ...Object.fromEntries(THREADS.map((path) => [nameOf(path), path])),
  }
  const input = Object.fromEntries(
    Object.entries(entries).map(([name, path]) => [name, join(ROOT, path)]),
  )
  await build({
    root: ROOT,
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: 'warn',
    plugins: [inPlace()],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      minify: false,
      target: 'node24',
      rolldownOptions: {
        input,
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  })
  provide('bundles', outDir)
  return () => rmSync(outDir, { recursive: true, force: true })
}

function nameOf(path: string): string {
  return basename(path, '.ts')
}

/** Makes a file find its threads next to the bundle, and the files that it reads in their old places. */
function inPlace(): Plugin {
  return {
    name: 'in-place',
    enforce: 'pre',
    transform(code, id) {
      if (!id.startsWith(ROOT) || id.includes('/node_modules/')) return null
      return code
        .replaceAll(/new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g, (whole, name: string) =>
          THREADS.some((path) => nameOf(path) === name)
            ? `new URL('./${name}.js', import.meta.url)`
            : whole,
        )
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
    },
  }
}
