import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { APP_SECRET } from '../../people/authenticator-app.ts'
import { countRecoveryCodes, listFactors } from '../../people/own-factors.ts'
import type { SignedIn } from '../../people/sessions.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { isRecent } from './page-access.ts'
import {
  codeField,
  enter,
  letIn,
  type PageCall,
  type PageCallsInput,
  readBody,
  registerCalls,
} from './page-calls.ts'
import type { FactorNeededAnswer, FactorsAnswer, MeAnswer } from './session-answers.ts'

const showBody = z.strictObject({ code: codeField.min(1, 'is required') })
const appBody = z.strictObject({
  secret: z.string().regex(APP_SECRET, 'is not a secret of an authenticator app'),
  code: codeField.min(1, 'is required'),
})

/** Second factors: what ends a sign-in of a user who has one, and what sets them up. */
export function registerFactorRoutes(app: FastifyInstance, input: PageCallsInput): void {
  registerCalls(app, input, [
    ['POST', 'auth/factor', (call) => show(input, call)],
    ['GET', 'auth/factors', (call) => list(input, call)],
    ['POST', 'auth/factors/app/begin', (call) => beginApp(input, call)],
    ['POST', 'auth/factors/app', (call) => addApp(input, call)],
    ['POST', 'auth/factors/recovery-codes', (call) => renewRecoveryCodes(input, call)],
    ['DELETE', 'auth/factors/:factor_id', (call) => remove(input, call)],
  ])
}

async function show(input: PageCallsInput, call: PageCall): Promise<MeAnswer | FactorNeededAnswer> {
  const { people, site, unknownCallers } = input
  const { arrival } = call
  const sessionToken = site.sessionTokenOf(arrival)
  if (sessionToken === null) throw new Problem('not_signed_in')
  const waiting = await people.sessions.findWaiting(sessionToken)
  if (waiting === null) throw unknownCallers.refusal(arrival, { code: 'not_signed_in' })
  await people.factors.letIn(waiting, await readBody(showBody, { input, call }))
  return letIn(input, call, { sessionToken })
}

async function list(input: PageCallsInput, call: PageCall): Promise<FactorsAnswer> {
  const { user } = await enter(input, call)
  const factors = await listFactors(input.db, user.id)
  return {
    object: 'factors',
    data: factors.map(({ id, kind, createdAtMs, lastUsedAtMs }) => ({
      id,
      object: 'factor',
      kind,
      created_at: new Date(createdAtMs).toISOString(),
      last_used_at: lastUsedAtMs === null ? null : new Date(lastUsedAtMs).toISOString(),
    })),
    recovery_codes_left: await countRecoveryCodes(input.db, user.id),
  }
}

async function beginApp(input: PageCallsInput, call: PageCall): Promise<object> {
  const { user } = await enterRecently(input, call)
  return { object: 'app_begun', ...input.people.factors.beginApp(user) }
}

async function addApp(input: PageCallsInput, call: PageCall): Promise<object> {
  const signedIn = await enterRecently(input, call)
  const body = await readBody(appBody, { input, call })
  const { recoveryCodes } = await input.people.factors.addApp({ signedIn, ...body })
  call.reply.code(201)
  return { object: 'factor_added', recovery_codes: recoveryCodes }
}

async function renewRecoveryCodes(input: PageCallsInput, call: PageCall): Promise<object> {
  const signedIn = await enterRecently(input, call)
  const codes = await input.people.factors.renewRecoveryCodes(signedIn)
  call.reply.code(201)
  return { object: 'recovery_codes', recovery_codes: codes }
}

async function remove(input: PageCallsInput, call: PageCall): Promise<object> {
  const signedIn = await enterRecently(input, call)
  const { factor_id: factorId = '' } = call.request.params
  const isId = /^fact_\w+$/.test(factorId)
  if (!isId || !(await input.people.factors.remove(signedIn, factorId))) {
    throw new Problem('not_found', { message: 'No second factor has this id.' })
  }
  return { id: factorId, object: 'factor', deleted: true }
}

/** Who is signed in, by a password of the last ten minutes. Throws Problem `sign_in_again`. */
async function enterRecently(input: PageCallsInput, call: PageCall): Promise<SignedIn> {
  const signedIn = await enter(input, call)
  if (!isRecent(input, signedIn)) throw new Problem('sign_in_again')
  return signedIn
}
