import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { cpuTicksOf, parseProcessMemory, parseProcessStat, treeOf } from './process-stat.ts'

const stat = (pid: number, parentPid: number, cpuTicks: number, endedChildrenCpuTicks = 0) => ({
  pid,
  parentPid,
  cpuTicks,
  endedChildrenCpuTicks,
})

test('user and kernel time are added up, and the time of ended children is kept apart', () => {
  const text = '812 (node) S 7 812 812 0 -1 4194304 1 2 3 4 150 25 11 6 20 0 12 0 5 6 7 8'
  expect(parseProcessStat(text)).toEqual(stat(812, 7, 175, 17))
})

test('a program may be named like the fields around it', () => {
  const text = '9 (a) R 1 (b c) S 3 0 0 0 -1 0 0 0 0 0 40 2 0 0 20 0'
  expect(parseProcessStat(text)).toEqual(stat(9, 3, 42))
})

test('a text that is not a stat is refused', () => {
  expect(() => parseProcessStat('')).toThrow(RangeError)
  expect(() => parseProcessStat('9 (a) R 1')).toThrow(RangeError)
})

test('this very process is read, and its parent is the one that the runtime names', () => {
  const own = parseProcessStat(readFileSync('/proc/self/stat', 'utf8'))
  expect(own).toMatchObject({ pid: process.pid, parentPid: process.ppid })
  expect(own.cpuTicks).toBeGreaterThan(0)
  const memory = parseProcessMemory(readFileSync('/proc/self/status', 'utf8'))
  expect(memory.residentPeakBytes).toBeGreaterThanOrEqual(memory.residentBytes)
})

test('a tree is a process with all processes below it, in any order of the list', () => {
  const stats = [stat(4, 3, 1), stat(3, 2, 10), stat(2, 1, 100, 7), stat(9, 1, 5_000)]
  expect(treeOf(stats, 2).map(({ pid }) => pid)).toEqual([2, 3, 4])
  expect(cpuTicksOf(treeOf(stats, 2))).toBe(118)
  expect(treeOf(stats, 77)).toEqual([])
})

test('memory is read in bytes, and an ended process has none', () => {
  const text = 'Name:\tnode\nVmPeak:\t  900 kB\nVmHWM:\t   300 kB\nVmRSS:\t   200 kB\n'
  expect(parseProcessMemory(text)).toEqual({ residentBytes: 204_800, residentPeakBytes: 307_200 })
  expect(() => parseProcessMemory('Name:\tnode\nState:\tZ (zombie)\n')).toThrow('VmRSS')
})
