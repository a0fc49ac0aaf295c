import { join } from 'node:path'
import { inject } from 'vitest'
import type { BundledProgram } from './bundle-programs.ts'

/** The file that this test run has made of a program, in a folder of its own. */
export function bundled(name: BundledProgram): string {
  return join(inject('bundles'), `${name}.js`)
}
