import { z } from 'zod'
import { nameField } from '../../operations/fields.ts'
import { APP_SECRET } from '../../people/factors/authenticator-app.ts'
import { countRecoveryCodes, listFactors } from '../../people/factors/own-factors.ts'
import type { PasskeySite } from '../../people/factors/passkeys.ts'
import type { SignedIn } from '../../people/sessions.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { codeField, newPasskeyField, passkeySiteOf, proofFields, proofOf } from './factor-proof.ts'
import { countCall, requireSignedIn } from './page-access.ts'
import {
  type AnyCall,
  enter,
  enterRecently,
  letIn,
  needsProof,
  type PageCall,
  type PageCallsInput,
  pageCall,
} from './page-calls.ts'
import type { PageSite } from './page-site.ts'
import type { FactorNeededAnswer, FactorsAnswer, MeAnswer } from './session-answers.ts'

const showBody = z
  .strictObject(proofFields)
  .refine(({ code = '', passkey }) => code !== '' || passkey !== undefined, {
    path: ['code'],
    error: 'is required',
  })
const appBody = z.strictObject({
  secret: z.string().regex(APP_SECRET, 'is not a secret of an authenticator app'),
  code: codeField.min(1, 'is required'),
})

const passkeyBody = z.strictObject({ name: nameField, passkey: newPasskeyField })

async function show(
  input: PageCallsInput,
  call: PageCall<typeof showBody>,
): Promise<MeAnswer | FactorNeededAnswer> {
  const { people, site, unknownCallers, signInLog } = input
  const { arrival, visitor } = call
  const sessionToken = site.sessionTokenOf(arrival)
  if (sessionToken === null) throw new Problem('not_signed_in')
  const waiting = await people.sessions.findWaiting(sessionToken)
  if (waiting === null) throw unknownCallers.refusal(arrival, { code: 'not_signed_in' })
  const shown = await call.readBody()
  const method = 'second factor'
  const proof = proofOf(site, arrival, shown)
  const made = await people.factors.letIn(waiting, proof).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'invalid_second_factor') {
      signInLog.failed({ userId: waiting.user.id }, { method, visitor })
    }
    throw error
  })
  return letIn(input, call, { ...made, method })
}

/** Asks for a signature by a passkey, at a sign-in or where the password is asked for again. */
async function challenge(input: PageCallsInput, call: PageCall) {
  const { people, site } = input
  const { arrival, reply } = call
  const sessionToken = site.sessionTokenOf(arrival)
  const waiting = sessionToken === null ? null : await people.sessions.findWaiting(sessionToken)
  const asking = waiting ?? (await requireSignedIn(input, arrival))
  // A person who knows only the password must not use up the user's calls.
  const callerId = waiting === null ? asking.user.id : waiting.sessionId
  countCall(input, { callerId, client: reply.raw })
  const asked = await people.factors.challenge(asking, requirePasskeySite(site, arrival))
  if (asked === null) {
    throw new Problem('not_found', { message: 'You have no passkey for this address of the page.' })
  }
  return { object: 'passkey_challenge', options: asked }
}

async function list(input: PageCallsInput, call: PageCall): Promise<FactorsAnswer> {
  const signedIn = await enter(input, call)
  const { user } = signedIn
  const factors = await listFactors(input.db, user.id)
  return {
    object: 'factors',
    data: factors.map((factor) => ({
      id: factor.id,
      object: 'factor',
      kind: factor.kind,
      name: factor.kind === 'app' ? null : factor.name,
      host: factor.kind === 'app' ? null : factor.host,
      created_at: new Date(factor.createdAtMs).toISOString(),
      last_used_at:
        factor.lastUsedAtMs === null ? null : new Date(factor.lastUsedAtMs).toISOString(),
    })),
    recovery_codes_left: await countRecoveryCodes(input.db, user.id),
    needs_proof: needsProof(input, signedIn),
    passkey_host: passkeySiteOf(input.site, call.arrival)?.host ?? null,
  }
}

async function beginApp(input: PageCallsInput, call: PageCall) {
  const { user } = await enterToAdd(input, call)
  return { object: 'app_begun', ...input.people.factorSetup.beginApp(user) }
}

async function addApp(input: PageCallsInput, call: PageCall<typeof appBody>) {
  const signedIn = await enterToAdd(input, call)
  const body = await call.readBody()
  const { recoveryCodes } = await input.people.factorSetup.addApp({ signedIn, ...body })
  call.reply.code(201)
  return { object: 'factor_added', recovery_codes: recoveryCodes }
}

async function beginPasskey(input: PageCallsInput, call: PageCall) {
  const signedIn = await enterToAdd(input, call)
  const site = requirePasskeySite(input.site, call.arrival)
  const asked = await input.people.factorSetup.beginPasskey(signedIn, site)
  return { object: 'passkey_begun', options: asked }
}

async function addPasskey(input: PageCallsInput, call: PageCall<typeof passkeyBody>) {
  const signedIn = await enterToAdd(input, call)
  const site = requirePasskeySite(input.site, call.arrival)
  const { name, passkey: answer } = await call.readBody()
  const { factorSetup } = input.people
  const { recoveryCodes } = await factorSetup.addPasskey({ signedIn, site, name, answer })
  call.reply.code(201)
  return { object: 'factor_added', recovery_codes: recoveryCodes }
}

async function renewRecoveryCodes(input: PageCallsInput, call: PageCall) {
  const signedIn = await enterRecently(input, call)
  const codes = await input.people.factorSetup.renewRecoveryCodes(signedIn)
  call.reply.code(201)
  return { object: 'recovery_codes', recovery_codes: codes }
}

async function remove(input: PageCallsInput, call: PageCall) {
  const signedIn = await enterRecently(input, call)
  const { factor_id: factorId = '' } = call.request.params
  const isId = /^fact_\w+$/.test(factorId)
  if (!isId || !(await input.people.factorSetup.remove(signedIn, factorId))) {
    throw new Problem('not_found', { message: 'No second factor has this ID.' })
  }
  return { id: factorId, object: 'factor', deleted: true }
}

/** Finds the user, who may add a second factor. Throws Problem `address_not_proved`, and as {@link enterRecently} does. */
async function enterToAdd(input: PageCallsInput, call: AnyCall): Promise<SignedIn> {
  const signedIn = await enterRecently(input, call)
  if (needsProof(input, signedIn)) throw new Problem('address_not_proved')
  return signedIn
}

/** Second factors: the call that ends a sign-in of a user who has one, and those that set them up. */
export const FACTOR_CALLS = [
  pageCall({ name: 'showFactor', path: 'auth/factor', body: showBody, run: show }),
  pageCall({ name: 'challengePasskey', path: 'auth/factor/challenge', run: challenge }),
  pageCall({ name: 'listFactors', method: 'GET', path: 'auth/factors', run: list }),
  pageCall({ name: 'beginAppFactor', path: 'auth/factors/app/begin', run: beginApp }),
  pageCall({ name: 'addAppFactor', path: 'auth/factors/app', body: appBody, run: addApp }),
  pageCall({ name: 'beginPasskey', path: 'auth/factors/passkey/begin', run: beginPasskey }),
  pageCall({
    name: 'addPasskey',
    path: 'auth/factors/passkey',
    body: passkeyBody,
    run: addPasskey,
  }),
  pageCall({
    name: 'renewRecoveryCodes',
    path: 'auth/factors/recovery-codes',
    run: renewRecoveryCodes,
  }),
  pageCall({
    name: 'removeFactor',
    method: 'DELETE',
    path: 'auth/factors/{factor_id}',
    run: remove,
  }),
]

/** Throws Problem `invalid_parameter` if the page is at an address that has no passkeys. */
function requirePasskeySite(site: PageSite, arrival: Arrival): PasskeySite {
  const found = passkeySiteOf(site, arrival)
  if (found !== null) return found
  const message =
    "Browsers don't support passkeys for a page at an IP address. Open the page by a host name; on this machine, at http://localhost."
  throw new Problem('invalid_parameter', { message })
}
