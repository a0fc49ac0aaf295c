import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.ts'
import {
  filesSent,
  type Instruction,
  isIn,
  lastStage,
  ROOT,
  readCopy,
  readImageRecipe,
  readWords,
} from './image-recipe.ts'

/** The contents of the image. `npm run test:package` runs its command and its health check. */

const recipe = readImageRecipe()

/** The input of `npm run package`, in addition to the files that go into the package unchanged. */
const MADE_FROM = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'LICENSE',
  'release',
  'src',
  'simulator',
  'web',
]

function only(name: string): Instruction {
  const [found, ...more] = lastStage(recipe).filter((each) => each.name === name)
  if (found === undefined || more.length > 0) throw new Error(`not one ${name}`)
  return found
}

function environment(): Record<string, string> {
  return Object.fromEntries(
    only('ENV')
      .rest.split(/\s+/)
      .map((pair) => pair.split('=', 2)),
  )
}

test('the image has the very Node that the tests run on', () => {
  const stages = recipe.filter(({ name }) => name === 'FROM')
  expect(stages.length).toBeGreaterThan(0)
  for (const { rest } of stages) {
    expect(rest).toMatch(new RegExp(`^node:${process.versions.node}-\\w+-slim( |$)`))
  }
})

test('every file of the package is sent to the build, without tests, secrets or stores', () => {
  const { files }: { files: readonly string[] } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  )
  const sent = filesSent()
  // dist/ is made there: by release/, of what the page and the program are.
  for (const pattern of [...files.filter((each) => each !== 'dist'), ...MADE_FROM]) {
    const listed = globSync(pattern, { cwd: ROOT })
    expect(listed, pattern).not.toEqual([])
    for (const path of listed) {
      expect(
        sent.some((each) => isIn(each, [path])),
        path,
      ).toBe(true)
    }
  }
  const places = ['.npmrc', ...files, ...MADE_FROM].map((place) => place.split('*')[0] ?? '')
  const strays = sent.filter((path) => !places.some((place) => path.startsWith(place)))
  expect(strays.filter((path) => !/^[A-Z]+\.md$/.test(path))).toEqual([])
  expect(sent.filter((path) => /\.test\.ts$|\/testing\/|\.env$|^data\//.test(path))).toEqual([])
})

test('the image has only the published package: no checkout, and no package that only its build needs', () => {
  const copied = lastStage(recipe).filter(({ name }) => name === 'COPY')
  expect(copied.map(readCopy)).toEqual([
    { stage: 'package', sources: ['/opt/tollgate'], to: '/opt/tollgate' },
  ])
  const [, installing = ''] = recipe.filter(({ name }) => name === 'RUN').map(({ rest }) => rest)
  expect(installing).toMatch(
    /npm run --silent package .*npm install --prefix \/opt\/tollgate --omit=dev .*\.tgz/,
  )
})

test('the image runs the program at its path in the package', () => {
  const { bin }: { bin: { tollgate: string } } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  )
  const installed = `/opt/tollgate/node_modules/tollgate/${bin.tollgate}`
  expect(readWords(only('CMD'))).toContain(installed)
  expect(only('RUN').rest).toContain(`ln -s ${installed} /usr/local/bin/tollgate `)
})

test('the image runs as a user by number that is not root, with settings that exist', () => {
  expect(only('USER').rest).toMatch(/^[1-9]\d*:[1-9]\d*$/)
  const config = readConfig(environment())
  expect(only('EXPOSE').rest).toBe(String(config.PORT))
  expect(config.HOST).toBe('0.0.0.0')
})
