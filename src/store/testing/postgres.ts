import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import type {} from './one-server-a-run.ts'

let admin: Promise<Client> | undefined

/** A new database on the server of this test run, with the tables and nothing in them. */
export async function createPostgresDatabase() {
  const { adminUrl, template } = inject('postgres')
  const name = `test_${randomBytes(8).toString('hex')}`
  await onServer(adminUrl, `create database ${name} template ${template} strategy file_copy`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return { url: url.href, remove: () => onServer(adminUrl, `drop database ${name} with (force)`) }
}

/** All of a worker's databases are made on one connection. */
async function onServer(url: string, statement: string): Promise<void> {
  admin ??= connect(url)
  await (await admin).query(statement)
}

async function connect(url: string): Promise<Client> {
  const client = new Client(url)
  // The server of the run is stopped while workers may still be there.
  client.on('error', () => {})
  await client.connect()
  return client
}
