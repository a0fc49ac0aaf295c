import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type CpuProfile,
  profileShares,
  profilesIn,
  sharesOf,
  sharesTable,
} from './profile-shares.ts'

function frame(functionName: string, url = '') {
  return { functionName, url }
}

const PROFILE: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3, 4, 5, 8] },
    { id: 2, callFrame: frame('(idle)') },
    { id: 3, callFrame: frame('(garbage collector)') },
    { id: 4, callFrame: frame('onread', 'node:net') },
    { id: 5, callFrame: frame('run', 'file:///a/src/journey/journey.ts'), children: [6, 7] },
    { id: 6, callFrame: frame('end', 'node:_http_outgoing') },
    { id: 7, callFrame: frame('go', 'file:///a/node_modules/undici/lib/client.js'), children: [9] },
    { id: 8, callFrame: frame('of', 'file:///a/node_modules/@x/y/src/lib/z.js') },
    { id: 9, callFrame: frame('writev') },
  ],
  samples: [2, 3, 4, 5, 6, 7, 8, 9, 2],
  timeDeltas: [900, 10, 10, 20, 20, 10, 10, 20, 900],
}

test('time goes to the innermost folder or package on the stack, and idle time to nothing', () => {
  expect(sharesOf(PROFILE)).toEqual({
    thread: 'the main thread',
    busyMs: 0.1,
    shares: new Map([
      ['src/journey', 0.4],
      ['undici', 0.3],
      ['garbage collection', 0.1],
      ['Node', 0.1],
      ['@x/y', 0.1],
    ]),
  })
})

test('only the profiles of this run are read, and only threads that had work', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-profiles-'))
  try {
    writeFileSync(join(folder, 'before.cpuprofile'), '')
    const before = new Set(profilesIn(folder))
    writeFileSync(join(folder, 'after.cpuprofile'), JSON.stringify(PROFILE))
    const idler = { ...PROFILE, samples: [2, 3], timeDeltas: [900, 1] }
    writeFileSync(join(folder, 'idler.cpuprofile'), JSON.stringify(idler))
    expect(profileShares(folder, before)).toEqual([sharesOf(PROFILE)])
    expect(profilesIn(join(folder, 'none'))).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a table leaves out what is below a hundredth', () => {
  const shares = new Map([
    ['a', 0.992],
    ['b', 0.008],
  ])
  expect(sharesTable({ thread: 'a thread', busyMs: 1_540, shares })).toBe(
    '### A profile of a thread, 1.5 s busy\n\n| Part | Share |\n| --- | --- |\n| a | 99% |\n',
  )
})
