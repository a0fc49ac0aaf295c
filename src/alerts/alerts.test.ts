import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { runScript } from '../ledger/testing/script.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { MailRefused, MailServer } from '../mail/mail-server.ts'
import { parseSender, parseSmtpUrl } from '../mail/smtp-url.ts'
import { startMailbox } from '../mail/testing/mailbox.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import type { AlertAbout } from './about.ts'
import { alertLetter } from './alert-letter.ts'
import { AlertPost } from './alert-post.ts'
import { lookAtOnce } from './testing/look-at-once.ts'
import { addOwner, waitingLetters } from './testing/owners.ts'

const OWNER = 'user_ada'

let bench: StoreBench
let names = 0

const next = (prefix: string) => `${prefix}_${String(++names).padStart(5, '0')}`

/** Notes alerts of all accounts and keys, as a process does that has just started. */
async function look(processes = 1): Promise<void> {
  const accountIds = ['acct_1', 'acct_2']
  await lookAtOnce(bench, { processes, accountIds, apiKeyIds: ['key_1'] })
}

const letters = () => waitingLetters(bench.db)

async function credit(amountMicros: number, freeUntilMs: number | null = null): Promise<void> {
  bench.nowMs += 1
  await bench.ledger.addCredit({
    accountId: 'acct_1',
    purse: freeUntilMs === null ? 'backed' : 'free',
    amountMicros: micros(amountMicros),
    expiresAtMs: freeUntilMs,
    reference: next('reference'),
  })
}

async function spend(chargeMicros: number): Promise<void> {
  bench.nowMs += 1
  const id = next('req')
  await runScript(
    bench,
    `at ${bench.nowMs / 1_000}\nopen ${id} key_1 ${chargeMicros}\nsettle ${id} final ${chargeMicros}`,
  )
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    bench.nowMs = Date.parse('2027-01-01')
    for (const accountId of ['acct_1', 'acct_2']) await bench.createAccount(accountId)
    await bench.createApiKey('key_1', 'acct_1')
    await addOwner(bench.db, OWNER)
    await look()
  })
  afterEach(() => bench.auditAndClose())

  test('an email reports each of 75, 90 and 100% of the credit since the last top-up once', async () => {
    await credit(1_000)
    await spend(749)
    await look()
    expect(await letters()).toEqual([])
    for (const chargeMicros of [1, 1, 149, 1, 99, 0]) {
      if (chargeMicros > 0) await spend(chargeMicros)
      await look(3)
    }
    const of = { userId: OWNER, kind: 'credit', creditedMicros: 1_000, removedMicros: 0 }
    expect(await letters()).toEqual([
      { ...of, step: 75, leftMicros: 250 },
      { ...of, step: 90, leftMicros: 100 },
      { ...of, step: 100, leftMicros: 0 },
    ])
  })

  test('more credit starts the steps again, from the balance right after it', async () => {
    await credit(1_000)
    await spend(800)
    await look()
    await credit(800)
    await look()
    await spend(700)
    await look()
    expect(await letters()).toMatchObject([{ step: 75 }])
    await spend(50)
    await look()
    await look()
    expect(await letters()).toMatchObject([
      { step: 75, creditedMicros: 1_000 },
      { step: 75, creditedMicros: 1_000, leftMicros: 250 },
    ])
    const noted = await bench.db.selectFrom('alerts').selectAll().execute()
    expect(noted).toHaveLength(1)
  })

  test('a member who changes limits of keys has owners emailed 50 times a day, the last email says so, and emails about credit are not affected', async () => {
    await credit(1_000)
    await spend(700)
    for (let limitMicros = 700; limitMicros > 640; limitMicros--) {
      bench.nowMs += 1
      await bench.setApiKey('key_1', { creditLimitMicros: micros(limitMicros) })
      await look()
    }
    expect((await letters()).map((letter) => Object(letter).kind)).toEqual(
      Array(50).fill('key_limit'),
    )
    const said = (await letters()).map((letter) => Object(letter).isLastOfDay)
    expect(said).toEqual([...Array(49).fill(undefined), true])
    const about = (await letters()).at(-1) as AlertAbout
    const sentTo = { to: 'ada@example.org', accountName: 'Acme', accountUrl: 'https://g/app/a' }
    expect(alertLetter({ ...sentTo, about }).text).toContain(
      'further alerts about keys are not emailed today.',
    )
    await bench.setApiKey('key_1', { creditLimitMicros: null })
    await spend(100)
    await look()
    expect((await letters()).at(-1)).toMatchObject({ kind: 'credit', step: 75 })
    expect((await letters()).at(-1)).not.toHaveProperty('isLastOfDay')
    // The next day, although some are noted less than 24 hours ago.
    bench.nowMs = Date.parse('2027-01-02')
    await bench.setApiKey('key_1', { creditLimitMicros: micros(600) })
    await look()
    expect((await letters()).at(-1)).toMatchObject({ kind: 'key_limit', limitMicros: 600 })
    expect(await letters()).toHaveLength(52)
  })

  test('of several steps at once only the highest is sent by email', async () => {
    await credit(1_000)
    await spend(950)
    await look()
    bench.nowMs += 1
    await runScript(bench, 'set key_1 limit 1000')
    await look()
    expect(await letters()).toMatchObject([
      { kind: 'credit', step: 90 },
      { kind: 'key_limit', step: 90, keyName: 'key_1', spendMicros: 950, limitMicros: 1_000 },
    ])
    await look(2)
    expect(await letters()).toHaveLength(2)
  })

  test('another limit of a key begins again, and the same one does not', async () => {
    await credit(1_000_000)
    await runScript(bench, 'set key_1 limit 100')
    await spend(90)
    await look()
    for (const limit of [110, 100, 110]) {
      bench.nowMs += 1
      await runScript(bench, `set key_1 limit ${limit}`)
      await look()
    }
    expect(await letters()).toMatchObject([
      { kind: 'key_limit', limitMicros: 100, step: 90 },
      { kind: 'key_limit', limitMicros: 110, step: 75 },
    ])
  })

  test('an allowance is mailed once in each period, until it ends', async () => {
    await credit(1_000_000)
    await runScript(bench, 'set key_1 allowance 100/day')
    await spend(80)
    await look()
    await look()
    bench.nowMs += DAY_MS
    await look()
    await spend(80)
    await look()
    const of = { kind: 'key_allowance', step: 75, period: 'day', allowanceMicros: 100 }
    expect(await letters()).toMatchObject([
      { ...of, resetsAtMs: Date.parse('2027-01-02') },
      { ...of, resetsAtMs: Date.parse('2027-01-03') },
    ])
    const ofKey = bench.db.selectFrom('alerts').selectAll().where('subject', 'like', 'key%')
    expect(await ofKey.execute()).toHaveLength(1)
  })

  test('free credit that ends is mailed a week before, once', async () => {
    await credit(500, bench.nowMs + 10 * DAY_MS)
    await look()
    bench.nowMs += 3 * DAY_MS - 2
    await look()
    expect(await letters()).toEqual([])
    bench.nowMs += 2
    await look()
    await look()
    expect(await letters()).toMatchObject([{ kind: 'free_credit_ends', amountMicros: 500 }])
    bench.nowMs += 7 * DAY_MS
    await look()
    // Nothing is left of the credit.
    expect(await letters()).toMatchObject([
      { kind: 'free_credit_ends' },
      { kind: 'credit', step: 100, leftMicros: 0, creditedMicros: 500 },
    ])
  })

  test('three simultaneous processes record everything once', async () => {
    await credit(1_000)
    await runScript(bench, 'set key_1 limit 1000\nset key_1 allowance 1000/month')
    await addOwner(bench.db, 'user_bob')
    await spend(1_000)
    await look(3)
    const mailed = await letters()
    expect(mailed).toHaveLength(6)
    expect(new Set(mailed.map((letter) => JSON.stringify(letter))).size).toBe(6)
  })

  test('steps that were crossed before there were alerts are not emailed', async () => {
    await bench.db.deleteFrom('settings').where('name', '=', 'alerts_noted').execute()
    await credit(1_000)
    await spend(900)
    await look()
    expect(await letters()).toEqual([])
    await spend(100)
    await look()
    expect(await letters()).toMatchObject([{ step: 100 }])
  })

  test('disabled accounts, disabled and expired keys, and accounts whose owners want no emails, get no emails', async () => {
    await credit(1_000)
    await runScript(bench, 'set key_1 limit 1000')
    await spend(1_000)
    const { db } = bench
    await db.updateTable('accounts').set({ disabled: 1 }).execute()
    await look()
    await db.updateTable('api_keys').set({ disabled: 1 }).execute()
    await look()
    expect(await letters()).toEqual([])
    await db.updateTable('accounts').set({ disabled: 0 }).execute()
    await db.updateTable('users').set({ alert_mails: 0 }).execute()
    await addOwner(db, 'user_unproved', { emailVerified: false })
    await look()
    expect(await letters()).toEqual([])
    await db.updateTable('api_keys').set({ disabled: 0, expires_at_ms: bench.nowMs }).execute()
    await look()
    expect(await db.selectFrom('alerts').selectAll().execute()).toHaveLength(3)
  })

  test('an owner whom an operator vouches for is mailed, though no email has proved the address', async () => {
    await credit(1_000)
    const { db } = bench
    await db.updateTable('users').set({ email_verified: 0, vouched: 1 }).execute()
    await addOwner(db, 'user_claimed', { emailVerified: false })
    await spend(1_000)
    await look()
    expect(await letters()).toMatchObject([{ userId: OWNER, step: 100 }])
  })

  describe('its mail', () => {
    const refused: string[] = []

    function post(server: Pick<MailServer, 'send'>): AlertPost {
      return new AlertPost({
        db: bench.db,
        clock: bench.clock,
        server,
        pageUrl: () => 'https://gate.example.com',
        onGivenUp: (reason) => refused.push(reason),
        onFailure: (cause) => {
          throw cause
        },
      })
    }

    beforeEach(async () => {
      refused.length = 0
      await credit(1_000_000_000)
      await runScript(bench, 'set key_1 limit 10000000')
      await spend(9_000_000)
      await look()
    })

    test('is sent to the owner once, by several processes, as plain text and HTML', async () => {
      const box = await startMailbox()
      const server = new MailServer({
        server: parseSmtpUrl(box.url),
        from: parseSender('Gate <gate@example.com>'),
      })
      await Promise.all([post(server).send(), post(server).send(), post(server).send()])
      await post(server).send()
      expect(box.mails).toHaveLength(1)
      const { to, text, html } = await box.mail(0)
      expect(to).toEqual(['user_ada@example.org'])
      expect(html).toContain(
        '<title>90% of the limit of &quot;key_1&quot; is used (acct_1)</title>',
      )
      expect(text).toContain(
        'The key "key_1" of the account "acct_1" has spent $9.00 of its limit of $10.00.',
      )
      expect(text).toContain('https://gate.example.com/app/acct_1/keys')
      expect(html).toContain('href="https://gate.example.com/app/acct_1/keys"')
      expect(html).not.toMatch(/<img|src=/)
      expect(await letters()).toEqual([])
      await box.close()
    })

    test('is tried again while the mail server is away, and given up after a day', async () => {
      const minutes: number[] = []
      const beganMs = bench.nowMs
      const away = post({
        async send() {
          minutes.push((bench.nowMs - beganMs) / 60_000)
          throw new MailRefused('no connection', { isTemporary: true })
        },
      })
      for (; bench.nowMs < beganMs + 37 * 60_000; bench.nowMs += 60_000) await away.send()
      expect([minutes, refused]).toEqual([[0, 1, 6, 36], []])
      bench.nowMs += DAY_MS
      await away.send()
      await away.send()
      expect([minutes.length, refused, await letters()]).toEqual([5, ['no connection'], []])
    })

    test('is dropped at once if the mail server refuses it permanently', async () => {
      const refusing = post({
        async send() {
          throw new MailRefused('550 no such user', { isTemporary: false })
        },
      })
      await refusing.send()
      expect([refused, await letters()]).toEqual([['550 no such user'], []])
    })

    test.each([
      ['is no owner any more', { table: 'members', set: { role: 'member' } }],
      ['wants no mails any more', { table: 'users', set: { alert_mails: 0 } }],
    ] as const)('is not sent to a user who %s', async (_, { table, set }) => {
      await bench.db.updateTable(table).set(set).execute()
      await post({
        async send() {
          throw new Error('it was sent')
        },
      }).send()
      expect(await letters()).toEqual([])
    })

    test('from a time when the clock was far ahead is sent after the clock is set back', async () => {
      await spend(1_000_000)
      const rightMs = bench.nowMs
      bench.nowMs += 1_000 * DAY_MS
      await look()
      bench.nowMs = rightMs
      const sent: string[] = []
      const sender = post({ send: async ({ subject }) => sent.push(subject).toString() })
      await sender.send()
      await sender.send()
      expect(sent.map((subject) => subject.slice(0, 4)).toSorted()).toEqual(['100%', '90% '])
    })

    test('that a stopped process had taken is sent by the next process', async () => {
      const never = Promise.withResolvers<string>()
      const began = Promise.withResolvers<void>()
      const stopped = post({
        send(_, signal) {
          began.resolve()
          signal?.addEventListener('abort', () =>
            never.reject(new MailRefused('stopped', { isTemporary: true })),
          )
          return never.promise
        },
      })
      stopped.start()
      await began.promise
      await stopped.stop()
      const sent: string[] = []
      await post({ send: async ({ to }) => sent.push(to).toString() }).send()
      expect(sent).toEqual(['user_ada@example.org'])
    })
  })
})
