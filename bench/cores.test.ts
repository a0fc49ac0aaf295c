import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { coresOfMachine, divideCores } from './cores.ts'

test('by default the gateway has one core, and the load has the others', () => {
  expect(divideCores(null, { cores: 2, hasTaskset: true })).toEqual({ gateway: '0', others: '1' })
  expect(divideCores(null, { cores: 8, hasTaskset: true })).toEqual({ gateway: '0', others: '1-7' })
  expect(divideCores(2, { cores: 8, hasTaskset: true })).toEqual({ gateway: '0-1', others: '2-7' })
})

test('nothing is pinned if all cores are wanted, if there is only one, or without taskset', () => {
  expect(divideCores(2, { cores: 2, hasTaskset: true })).toBe(null)
  expect(divideCores(null, { cores: 1, hasTaskset: true })).toBe(null)
  expect(divideCores(null, { cores: 2, hasTaskset: false })).toBe(null)
})

test('asking for cores is an error on a machine without taskset', () => {
  expect(() => divideCores(1, { cores: 2, hasTaskset: false })).toThrow('--cores needs')
})

test('this machine keeps a program to the core that it names', () => {
  const machine = coresOfMachine()
  const cores = divideCores(null, machine)
  if (cores === null) {
    expect(machine.cores === 1 || !machine.hasTaskset).toBe(true)
    return
  }
  const status = execFileSync('taskset', ['-c', cores.gateway, 'cat', '/proc/self/status'])
  expect(String(status)).toMatch(/^Cpus_allowed_list:\t0$/m)
})
