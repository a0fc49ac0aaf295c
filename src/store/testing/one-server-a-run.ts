import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { openStore } from '../open-store.ts'
import { startPostgresServer } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The server of this test run, and the name of a database with the tables and nothing in them. */
    readonly postgres: { readonly adminUrl: string; readonly template: string }
  }
}

const TEMPLATE = 'template_tollgate'

/** Starts the one PostgreSQL server of a test run, which fails without it; stops it at the end. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  // Tests kill processes, not the machine: what the system was given it will write.
  const server = await startPostgresServer({
    settings: ['fsync=off', 'full_page_writes=off', 'max_connections=200', 'autovacuum=off'],
  })
  const adminUrl = server.url('postgres')
  const admin = new Client(adminUrl)
  await admin.connect()
  await admin.query(`create database ${TEMPLATE}`)
  await admin.end()
  const store = await openStore({ url: server.url(TEMPLATE) })
  await store.close()
  provide('postgres', { adminUrl, template: TEMPLATE })
  return () => server.stop()
}
