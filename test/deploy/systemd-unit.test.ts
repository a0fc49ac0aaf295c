import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.ts'
import { ROOT } from './image-recipe.ts'

/** The units of deploy/, as far as they can be read; `npm run test:deploy` has systemd itself read them. */

const [unit, template] = ['tollgate.service', 'tollgate@.service'].map((file) =>
  readFileSync(join(ROOT, 'deploy', file), 'utf8'),
) as [string, string]

/** The value of a name that occurs once in the unit; otherwise undefined. */
function value(name: string): string | undefined {
  const values = [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, text]) => text)
  if (values.length > 1) throw new Error(`${name} stands twice`)
  return values[0]
}

test('it starts the program of a checkout in /opt/tollgate directly, without another process', () => {
  const [program = '', flag = '', launcher = '', ...rest] = value('ExecStart')?.split(' ') ?? []
  expect(rest).toEqual(['serve'])
  // As `npm start` has it.
  expect(readFileSync(join(ROOT, 'package.json'), 'utf8')).toContain(
    `node ${flag} bin/tollgate.js serve`,
  )
  for (const path of [program, launcher]) {
    expect(path).toMatch(/^\/opt\/tollgate\//)
    expect(existsSync(path.replace('/opt/tollgate', ROOT)), path).toBe(true)
  }
})

test('it is killed only after running answers had their time to end, and then started again', () => {
  expect(value('KillSignal')).toBe('SIGTERM')
  expect(value('Restart')).toBe('always')
  const [, minutes] = /^(\d+)min$/.exec(value('TimeoutStopSec') ?? '') ?? []
  expect(Number(minutes) * 60_000).toBeGreaterThan(readConfig({}).TOLLGATE_DRAIN_TIMEOUT_MS)
})

test('it has its own user, which can write only in its own folder', () => {
  const users = readFileSync(join(ROOT, 'deploy', 'tollgate.sysusers.conf'), 'utf8')
  expect(users).toMatch(new RegExp(`^u ${value('User')} - `, 'm'))
  expect(value('WorkingDirectory')).toBe(`/var/lib/${value('StateDirectory')}`)
  expect(value('ProtectSystem')).toBe('strict')
  expect(value('NoNewPrivileges')).toBe('yes')
  expect(value('CapabilityBoundingSet')).toBe('')
  expect(value('ReadWritePaths')).toBeUndefined()
})

test('Node may write the code that it runs', () => {
  expect(value('MemoryDenyWriteExecute')).toBeUndefined()
})

test('the unit of several processes differs only in the settings that they share and that each has for itself', () => {
  const settingsOf = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => /^[A-Z]/.test(line) && !/^(Description|Documentation)=/.test(line))
  const own = settingsOf(template).filter((line) => !settingsOf(unit).includes(line))
  expect(settingsOf(template).filter((line) => !own.includes(line))).toEqual(settingsOf(unit))
  const environment = (instance: string) =>
    Object.fromEntries(
      own.map((line) =>
        line
          .replace(/^Environment=/, '')
          .replace('%i', instance)
          .split('='),
      ),
    )
  const database = { DATABASE_URL: 'postgres://tollgate@db.example/tollgate' }
  const [first, second] = ['01', '02'].map((instance) =>
    readConfig({ ...environment(instance), ...database }),
  )
  expect(first).toMatchObject({ TOLLGATE_REUSE_PORT: 'on', METRICS_PORT: 9101 })
  expect(second).toMatchObject({ TOLLGATE_REUSE_PORT: 'on', METRICS_PORT: 9102 })
  expect(first?.PORT).toBe(second?.PORT)
  // The largest body, an image request of 64 MB, is reserved twice over while it is read.
  expect(first?.TOLLGATE_BUFFER_BYTES_MAX).toBeGreaterThanOrEqual(128 * 1024 * 1024)
})
