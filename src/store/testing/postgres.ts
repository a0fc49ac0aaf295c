import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import type {} from './one-server-a-run.ts'
import type { TestDatabase } from './test-databases.ts'

/** A new database on the server of this test run, with the tables and nothing in them. */
export async function createPostgresDatabase(): Promise<TestDatabase> {
  const { adminUrl, template } = inject('postgres')
  const name = `test_${randomBytes(8).toString('hex')}`
  await onServer(adminUrl, `create database ${name} template ${template} strategy file_copy`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    remove: () => onServer(adminUrl, `drop database ${name} with (force)`),
  }
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new Client(url)
  await client.connect()
  await client.query(statement)
  await client.end()
}
