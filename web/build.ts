import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { sourceStamp } from '../src/app/page-stamp.ts'

/**
 * `node web/build.ts [--if-stale] [folder]`: builds the page into build/web/, or into the folder; with `--if-stale`
 * only where the sources are not those of the build that is there, as `npm start` and `npm test` run it. A build that
 * fails ends with 1; where Vite is not installed there is nothing to run.
 */

const {
  values,
  positionals: [folder],
} = parseArgs({ options: { 'if-stale': { type: 'boolean' } }, allowPositionals: true })
const ROOT = dirname(import.meta.dirname)
const OUT = folder ?? join(ROOT, 'build', 'web')
const STAMP = join(OUT, 'stamp.json')
// Vite would take another one from the environment, and React's development build with it.
process.env['NODE_ENV'] = 'production'

const COMPRESSED = /\.(?:css|html|js|json|svg)$/
// The default of 11 takes three times as long for two percent.
const BROTLI_QUALITY = 10

// Otherwise each part that two screens share is a file, and a first load asks for twice as many.
const SPLITTING = {
  groups: [
    { name: 'first', tags: ['$initial' as const], priority: 1 },
    { name: 'parts', minShareCount: 10 },
  ],
}

const stamp = await sourceStamp(ROOT)
if (values['if-stale'] !== true || !(await isBuiltFrom(stamp))) {
  const vite = await loadVite()
  if (vite === null) {
    console.log('The page at /app is not built: Vite is not installed (a development dependency).')
  } else {
    await build(vite)
  }
}

async function isBuiltFrom(stamp: string): Promise<boolean> {
  const built = await readFile(STAMP, 'utf8').catch(() => '')
  return built.includes(stamp)
}

async function loadVite() {
  try {
    const [vite, react, tailwind] = await Promise.all([
      import('vite'),
      import('@vitejs/plugin-react'),
      import('@tailwindcss/vite'),
    ])
    return { build: vite.build, plugins: [react.default(), tailwind.default()] }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') {
      return null
    }
    throw error
  }
}

async function build(vite: NonNullable<Awaited<ReturnType<typeof loadVite>>>): Promise<void> {
  const { routesOfPage } = await import('./routes-of-page.ts')
  const startedMs = performance.now()
  console.log('The page at /app is being built. This takes some seconds, and only after a change.')
  await vite.build({
    root: import.meta.dirname,
    base: '/app/',
    configFile: false,
    envDir: false,
    logLevel: 'warn',
    plugins: vite.plugins,
    define: { PAGE_ROUTES: JSON.stringify(routesOfPage()) },
    build: {
      outDir: OUT,
      emptyOutDir: true,
      // light-dark(), popover and Intl as the page uses them: browsers from the middle of 2024.
      target: ['chrome125', 'firefox128', 'safari17.5'],
      // By the policy of the page, fonts come only from files.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // A note about a slow machine does not help at a first start.
      rolldownOptions: { checks: { bundlerTimings: false }, output: { codeSplitting: SPLITTING } },
    },
  })
  await compressAll(OUT)
  // Last, so that a build that broke off has no stamp.
  await writeFile(STAMP, `${JSON.stringify({ stamp })}\n`)
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(`The page at /app is built, in ${seconds} s.`)
}

async function compressAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && COMPRESSED.test(entry.name))
  await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name)
      const bytes = await readFile(path)
      const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
      await Promise.all([
        promisify(brotliCompress)(bytes, { params }).then((br) => writeFile(`${path}.br`, br)),
        promisify(gzip)(bytes, { level: 9 }).then((gz) => writeFile(`${path}.gz`, gz)),
      ])
    }),
  )
}
