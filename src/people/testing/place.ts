import { randomFillSync } from 'node:crypto'
import { TOTP } from 'otpauth'
import { onTestFinished } from 'vitest'
import { openStore } from '../../store/open-store.ts'
import type { Store } from '../../store/store.ts'
import { databaseOfTest, type TestDatabase } from '../../store/testing/test-databases.ts'
import { type StartTimer, systemClock } from '../../vocabulary/clock.ts'
import { createIdSource } from '../../vocabulary/ids.ts'
import { makeLink } from '../links.ts'
import { makeScryptPasswords, type Passwords } from '../passwords.ts'
import { People } from '../people.ts'
import type { NewSession, SignedIn } from '../sessions.ts'
import { PasskeyDevice } from './passkey-device.ts'

/** The first operator. */
export const ADA = { email: 'ada@example.org', password: 'correct horse battery' } as const

/** A browser without an earlier sign-in. */
export const VISITOR = { address: '192.0.2.1', agent: 'Test browser', known: null }

/** The address of the page that passkeys work at. */
export const SITE = { origin: 'https://gate.example.com', host: 'gate.example.com' }

/** IDs of the present. */
export const IDS = createIdSource({
  clock: systemClock,
  fillRandom: (bytes) => void randomFillSync(bytes),
})

/** Passwords whose check takes little time. */
export const PASSWORDS = makeScryptPasswords({ N: 1_024, r: 16 })

/** The people of a store, with real passwords by default. By position: the store, the passwords, and the timer of turns. */
export function peopleOf(
  store: Store,
  passwords: Passwords = PASSWORDS,
  startTimer?: StartTimer,
): People {
  return new People({
    ...store,
    clock: systemClock,
    ids: IDS,
    joinsFirstAccount: false,
    signUp: null,
    passwords,
    startTimer,
  })
}

interface AfterCheck {
  run: (() => Promise<unknown>) | null
}

/** A store in which the first operator, Ada, is signed in. */
export class Place {
  readonly store: Store
  readonly people: People
  readonly ada: SignedIn
  readonly #afterCheck: AfterCheck

  private constructor(
    { store, people }: { readonly store: Store; readonly people: People },
    ada: SignedIn,
    afterCheck: AfterCheck,
  ) {
    this.store = store
    this.people = people
    this.ada = ada
    this.#afterCheck = afterCheck
  }

  /** A place on a new database, until the end of the test. */
  static async on(create: () => Promise<TestDatabase>): Promise<Place> {
    const { url } = await databaseOfTest(create)
    const place = await Place.open(url)
    onTestFinished(() => place.close())
    return place
  }

  static async open(url: string): Promise<Place> {
    const store = await openStore({ url })
    const afterCheck: AfterCheck = { run: null }
    const people = peopleOf(store, {
      ...PASSWORDS,
      async isRight(checked) {
        const isRight = await PASSWORDS.isRight(checked)
        const { run } = afterCheck
        afterCheck.run = null
        await run?.()
        return isRight
      },
    })
    const link = await makeLink({ ...store, clock: systemClock, ids: IDS }, { kind: 'setup' })
    const made = await people.setUp({ linkText: link.text, name: 'Ada', ...ADA }, VISITOR)
    const ada = await people.sessions.find(made.sessionToken)
    if (ada === null) throw new Error('Ada is not signed in')
    return new Place({ store, people }, ada, afterCheck)
  }

  close(): Promise<void> {
    return this.store.close()
  }

  /** Runs something once, after a password was checked and before anything follows from it. */
  afterCheck(run: () => Promise<unknown>): void {
    this.#afterCheck.run = run
  }

  signIn(password: string): Promise<NewSession> {
    return this.people.signIn({ email: ADA.email, password }, VISITOR)
  }

  change(currentPassword: string, password: string): Promise<void> {
    const change = { signedIn: this.ada, currentPassword, password }
    return this.people.changePassword(change, VISITOR)
  }

  /** The text of a new link that resets Ada's password. */
  async resetLink(): Promise<string> {
    const { id: userId } = this.ada.user
    const parts = { ...this.store, clock: systemClock, ids: IDS }
    return (await makeLink(parts, { kind: 'reset', userId })).text
  }

  async reset(linkText: string, password: string): Promise<NewSession> {
    return this.people.resetPassword({ linkText, password }, VISITOR)
  }

  /** Gives Ada an authenticator app. Returns its code of the next 30 seconds, and recovery codes. */
  async addApp() {
    const { secret } = this.people.factorSetup.beginApp(this.ada.user)
    const app = new TOTP({ secret })
    const code = app.generate()
    const { recoveryCodes } = await this.people.factorSetup.addApp({
      signedIn: this.ada,
      secret,
      code,
    })
    return { next: app.generate({ timestamp: Date.now() + 30_000 }), recoveryCodes }
  }

  /** Gives Ada a passkey. */
  async addPasskey(): Promise<PasskeyDevice> {
    const device = new PasskeyDevice(SITE)
    const asked = await this.people.factorSetup.beginPasskey(this.ada, SITE)
    const answer = device.make(asked)
    const added = { signedIn: this.ada, site: SITE, name: 'A key', answer }
    await this.people.factorSetup.addPasskey(added)
    return device
  }

  async sessionIds(): Promise<readonly string[]> {
    return (await this.people.sessions.list(this.ada)).map(({ id }) => id)
  }
}
