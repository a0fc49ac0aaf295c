import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { micros } from '../../src/vocabulary/money.ts'
import { ADMIN_TOKEN, Management, textOf } from '../endpoints/management.ts'
import { inviteGuest, setUpOperator } from '../page/page-client.ts'

/**
 * `npm run test:schema`, or `npm run test:schema -- 60` for a minute in place of five: has schemathesis ask a gateway by
 * its own `/openapi.json`. Fails on a 500 and on an answer that the document does not have. Run by hand: its requests
 * are random, and it is installed from PyPI, into a temporary folder. `SCHEMATHESIS` names a program that is installed.
 */

const SCHEMATHESIS = 'schemathesis==4.32.5'

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
]

// Maintenance would refuse all requests from then on.
const LEFT_OUT = 'setMaintenance'

const seconds = Number(process.argv[2] ?? 300)
const folder = mkdtempSync(join(tmpdir(), 'tollgate-schema-'))
try {
  process.exitCode = await ask(process.env['SCHEMATHESIS'] ?? install())
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Installs schemathesis; returns its program. */
function install(): string {
  const venv = join(folder, 'venv')
  execFileSync('python3', ['-m', 'venv', venv], { stdio: 'inherit' })
  const pip = join(venv, 'bin', 'pip')
  execFileSync(pip, ['install', '--quiet', SCHEMATHESIS], { stdio: 'inherit' })
  return join(venv, 'bin', 'schemathesis')
}

/** Starts a gateway and has it asked. Resolves with the exit code of schemathesis. */
async function ask(program: string): Promise<number> {
  const perMinute = '1000000'
  const admin = await Management.start({
    mode: 'simulator',
    settings: {
      TOLLGATE_REQUESTS_PER_MINUTE: perMinute,
      TOLLGATE_UNKNOWN_KEYS_PER_MINUTE: perMinute,
    },
  })
  try {
    const settings = join(folder, 'schemathesis.toml')
    writeFileSync(settings, await settingsFor(admin))
    const asking = spawn(
      program,
      [
        ...['--config-file', settings, 'run', admin.world.url('/openapi.json')],
        ...['--checks', CHECKS.join(','), '--max-time', String(seconds)],
        ...['--exclude-operation-id', LEFT_OUT, '--continue-on-failure', '--no-color'],
      ],
      { stdio: 'inherit', cwd: folder },
    )
    return await new Promise((resolve, reject) => {
      asking.once('error', reject).once('exit', (code) => resolve(code ?? 1))
    })
  } finally {
    await admin.close()
  }
}

/** Puts something of every kind into the store. Resolves with the settings of schemathesis, which name it. */
async function settingsFor(admin: Management): Promise<string> {
  const accountId = await admin.account(1_000_000_000_000)
  const key = await admin.apiKey(accountId)
  await setUpOperator(admin.world)
  const guest = { email: 'lin@example.org', accountId, role: 'member' } as const
  const lin = await inviteGuest(admin.world, guest)
  const sent = await admin.chat(key.text)
  const held = { kind: 'hold', reason: 'paid in another currency' } as const
  const purchase = { ...held, worthMicros: micros(25_000_000) }
  const ids = {
    account_id: accountId,
    user_id: textOf(Object((await lin.get('me')).json['user']), 'id'),
    request_id: String(sent.headers['x-request-id']),
    purchase_id: await admin.world.purchase(accountId, purchase),
  }
  const named = Object.entries(ids).flatMap(([name, id]) => [
    `[dictionaries.${name}]`,
    `values = ["${id}"]`,
    `[parameters."path.${name}"]`,
    `dictionary = "${name}"`,
    'probability = 0.5',
  ])
  return [
    'suppress-health-check = ["all"]',
    '[auth.openapi.key]',
    `bearer = "${key.text}"`,
    '[auth.openapi.keyHeader]',
    `api_key = "${key.text}"`,
    '[auth.openapi.adminToken]',
    `bearer = "${ADMIN_TOKEN}"`,
    ...named,
  ].join('\n')
}
