#!/usr/bin/env node
import { existsSync } from 'node:fs'

// A checkout has the sources; the package has what the compiler made of them.
const isCheckout = existsSync(new URL('../cli.ts', import.meta.url))
const { main } = await import(isCheckout ? '../cli.ts' : '../dist/cli.js')
process.exit(await main(process.argv.slice(2)))
