import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { linesForPeople } from './log.ts'

test('lines for people have time, level, message and each value', () => {
  const [first, second] = [
    {
      level: 30,
      time: 1_795_271_402_254,
      pid: 7,
      hostname: 'h',
      models: 2,
      stream: false,
      state: null,
      msg: 'request',
    },
    {
      level: 50,
      time: 1_795_271_402_254,
      cause: 'Error: a b',
      ids: ['x'],
      msg: 'the store is away',
    },
  ].map((entry) => `${JSON.stringify(entry)}\n`)
  expect(linesForPeople(`${first}${second}`)).toBe(
    '14:30:02 info  request models=2 stream=false\n' +
      '14:30:02 error the store is away cause="Error: a b" ids=["x"]\n',
  )
})

test('lines for people show a request as endpoint, model, status, charge, time and id', () => {
  const entry = {
    level: 30,
    time: 1_795_271_402_254,
    requestId: 'req_1',
    endpoint: 'chat',
    httpStatus: 200,
    accountId: 'acct_1',
    modelId: 'sim/text',
    chargeMicros: 95,
    errorCode: null,
    durationMs: 41,
    msg: 'request',
  }
  const lineOf = (change: object) => linesForPeople(`${JSON.stringify({ ...entry, ...change })}\n`)
  expect(lineOf({})).toBe('14:30:02 chat sim/text 200 $0.000095 41 ms req_1\n')
  expect(
    lineOf({ httpStatus: 404, modelId: null, chargeMicros: null, errorCode: 'model_not_found' }),
  ).toBe('14:30:02 chat 404 model_not_found 41 ms req_1\n')
  expect(lineOf({ modelId: 'a\u001b[2J' })).toContain('chat "a\\u001b[2J" 200')
  // An internal fault is shown in full.
  expect(lineOf({ level: 50, msg: 'request failed' })).toContain('error request failed requestId=')
})

test('no value can control the terminal', () => {
  const entry = {
    level: 40,
    time: 0,
    cause: '\u001b[2J\u009b2J\n',
    nested: { '\u007f': 1 },
    msg: 'm',
  }
  expect(linesForPeople(`${JSON.stringify(entry)}\n`)).toBe(
    '00:00:00 warn  m cause="\\u001b[2J\\u009b2J\\n" nested={"\\u007f":1}\n',
  )
})

test.each(['await close(); process.exit()', 'process.exit()'])(
  'no line is lost when the process ends: %s',
  async (ending) => {
    const script = `
    const { openLog } = await import(${JSON.stringify(import.meta.resolve('./log.ts'))})
    const { log, close } = openLog({ level: 'info' })
    for (let line = 0; line < 5_000; line++) log.info({ line }, 'a line')
    ${ending}`
    const args = ['--input-type=module', '--eval', script]
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 22 })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).line)).toEqual(
      Array.from({ length: 5_000 }, (_, line) => line),
    )
  },
)

test('a full disk neither ends a process that logs nor keeps it from ending', async () => {
  const script = `
    const { once } = await import('node:events')
    const { openLog } = await import(${JSON.stringify(import.meta.resolve('./log.ts'))})
    const { log, close } = openLog({ level: 'info' })
    log.info('a line')
    process.stdin.resume()
    await once(process.stdin, 'end')
    log.info('another line')
    await close()
    process.exit()`
  const full = openSync('/dev/full', 'w')
  const args = ['--input-type=module', '--eval', script]
  const child = spawn(process.execPath, args, { stdio: ['pipe', full, 'pipe'] })
  closeSync(full)
  let remarks = ''
  child.stderr?.on('data', (text) => {
    remarks += String(text)
  })
  child.stdin?.end()
  expect(await once(child, 'close')).toEqual([0, null])
  expect(remarks).toBe('')
})

test('a log that is full because the disk is full continues when there is room', async () => {
  const script = `
    const fs = (await import('node:fs')).default
    const { write } = fs
    let isFull = true
    let isWritten = false
    fs.write = (...input) => {
      const done = input.pop()
      const failure = Object.assign(new Error('no space is left'), { code: 'ENOSPC' })
      if (isFull) return process.nextTick(done, failure)
      write(...input, (...result) => {
        isWritten = true
        done(...result)
      })
    }
    const { openLog } = await import(${JSON.stringify(import.meta.resolve('./log.ts'))})
    const { log, close } = openLog({ level: 'info' })
    const long = 'x'.repeat(64 * 1024)
    for (let line = 0; line < 300; line++) {
      log.info(long)
      await new Promise(setImmediate)
    }
    isFull = false
    while (!isWritten) {
      log.info(long)
      await new Promise(setImmediate)
    }
    log.info('the last line')
    await close()
    process.exit()`
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 })
  expect(stdout.length).toBeGreaterThan(10 * 1024 * 1024)
})
