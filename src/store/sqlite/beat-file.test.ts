import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeMadeStore } from '../testing/made-store.ts'
import { BeatFile, LogMissing } from './beat-file.ts'
import { openSqliteConnection } from './sqlite-connection.ts'

const BEAT = { instanceId: 'inst_1', beatAtMs: Date.now() + 3_600_000 }

let folder: string
let file: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-beat-'))
  file = join(folder, 'store.db')
  await leaveKilled(file)
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Leaves a store with its log, as a killed server does, and the note about its newest heartbeat. */
async function leaveKilled(place: string): Promise<void> {
  const live = join(folder, 'live.db')
  await writeMadeStore(live)
  const connection = openSqliteConnection({ file: live })
  connection.exec(`insert into instances (id, started_at_ms, heartbeat_at_ms, program_schema)
    values ('inst_1', 10, 10, 1)`)
  connection.exec(`update instances set heartbeat_at_ms = ${BEAT.beatAtMs}`)
  copyFileSync(live, place)
  copyFileSync(`${live}-wal`, `${place}-wal`)
  connection.close()
  new BeatFile(place).write(BEAT)
}

const check = () => new BeatFile(file).check()

test('a store with its log has the noted heartbeat, also once the log is written into it', () => {
  expect(check).not.toThrow()
  openSqliteConnection({ file }).close()
  expect(check).not.toThrow()
})

test('a store whose log was cut anywhere before the heartbeat is refused, and neither file is changed', () => {
  const [store, log] = [readFileSync(file), readFileSync(`${file}-wal`)]
  for (const bytes of [0, 1, log.length / 2, log.length - 1]) {
    const left = log.subarray(0, bytes)
    writeFileSync(`${file}-wal`, left)
    expect(check).toThrow(LogMissing)
    expect([readFileSync(file), readFileSync(`${file}-wal`)]).toEqual([store, left])
  }
  writeFileSync(`${file}-wal`, log)
  check()
})

test('a store is accepted without a note, with a torn one, and with one of another file', () => {
  rmSync(`${file}-wal`)
  expect(check).toThrow(LogMissing)
  const note = readFileSync(`${file}.beat`, 'utf8')
  for (const torn of ['', note.slice(0, -4), note.replace(/"inode":"\d+"/, '"inode":"1"')]) {
    writeFileSync(`${file}.beat`, torn)
    check()
  }
  rmSync(`${file}.beat`)
  check()
})

test('a backup that was written over the store is accepted, also with the times of the backup', () => {
  const { beatAtMs } = BEAT
  rmSync(`${file}-wal`)
  new BeatFile(file).write({ instanceId: 'inst_1', beatAtMs: Number(statSync(file).ctimeMs) - 1 })
  writeFileSync(file, readFileSync(file))
  utimesSync(file, 0, 0)
  check()
  new BeatFile(file).write({ instanceId: 'inst_1', beatAtMs })
  expect(check).toThrow(LogMissing)
})

test('a note that cannot be written changes nothing', () => {
  expect(() => new BeatFile(join(folder, 'none', 'store.db')).write(BEAT)).not.toThrow()
})

test('a file that is no store is left to the program that opens it', () => {
  writeFileSync(file, 'no store')
  expect(check).not.toThrow()
})
