import { expect, test } from 'vitest'
import { RECORDED_OPERATIONS } from '../../../src/vocabulary/recorded-operation.ts'
import type { OperatorAction } from '../../api/operator.ts'
import { actionWords, actorWords, changeWords, namesakes } from './action-words.ts'

const ACTION: OperatorAction = {
  id: 'act_1',
  object: 'operator_action',
  user_id: 'user_1',
  user_name: 'Olga Operator',
  user_email: 'olga@example.com',
  token_id: null,
  token_name: null,
  action: 'changeAccount',
  account_id: 'acct_1',
  account_name: 'Helix Lab',
  target_id: 'acct_1',
  amount: null,
  detail: {},
  before: null,
  created_at: '2026-11-21T22:04:58.000Z',
}

test('every recorded operation has words, not its name', () => {
  for (const action of RECORDED_OPERATIONS) {
    expect(actionWords({ ...ACTION, action })).toMatch(/^[A-Z][a-z]+ [a-z ]+$/)
  }
})

test('a change is described with the earlier name of the thing', () => {
  const key = { ...ACTION, action: 'rotateKey', detail: { name: 'nightly evals' } }
  expect(actionWords(key)).toBe('Key “nightly evals” rotated')
  expect(changeWords(key)).toBe('')
  const renamed = { ...ACTION, detail: { name: 'Helix' }, before: { name: 'Helix Lab' } }
  expect(actionWords(renamed)).toBe('Account “Helix Lab” changed')
  expect(changeWords(renamed)).toBe('Name: Helix Lab → Helix')
  const suspended = { ...ACTION, detail: { disabled: true }, before: { disabled: false } }
  expect(actionWords(suspended)).toBe('Account suspended')
  const invited = { ...ACTION, action: 'createInvitation', detail: { name: 'Ada' } }
  expect(changeWords(invited)).toBe('Name: Ada')
})

test('a change of a member says whose it is, and the removal of a person what is lost', () => {
  const role = { detail: { name: 'Noor', role: 'owner' }, before: { role: 'member' } }
  const change = { ...ACTION, action: 'changeMember', ...role }
  expect(actionWords(change)).toBe('Role of “Noor” changed')
  expect(changeWords(change)).toBe('Role: member → owner')
  const left = { detail: { name: 'Noor', role: null }, before: { role: 'member' } }
  expect(actionWords({ ...ACTION, action: 'removeMember', ...left })).toBe('Member “Noor” removed')
  const removed = { ...ACTION, action: 'removeUser' }
  const words = (detail: typeof ACTION.detail) => actionWords({ ...removed, detail })
  // Owners read the name alone.
  expect(words({ name: 'Noor' })).toBe('Member “Noor” removed')
  expect(words({ name: 'Noor', operator: false, everything: false })).toBe('Member “Noor” removed')
  expect(words({ name: 'Noor', operator: false, everything: true })).toBe('User “Noor” removed')
  expect(words({ operator: true, everything: false })).toBe('Operator removed')
  // An invitation was removed, or the record is of an earlier release.
  expect(words({})).toBe('Access removed')
  expect(actionWords({ ...change, detail: { role: 'owner' } })).toBe('Role changed')
})

test('a change shows the earlier values of its fields, and leaves out unchanged ones', () => {
  const detail = { fee_basis_points: 250, name: 'Helix Lab', email: null }
  const before = { fee_basis_points: null, name: 'Helix Lab', email: 'a@b.example' }
  expect(changeWords({ ...ACTION, detail, before })).toBe(
    'Email removed: a@b.example · Fee: by model → 2.5%',
  )
  const noted = { detail: { note: 'Invoice 104 is unpaid' }, before: { note: null } }
  expect(changeWords({ ...ACTION, ...noted })).toBe('Note added: Invoice 104 is unpaid')
  expect(changeWords({ ...ACTION, detail })).toBe('Fee: 2.5%')
})

test('metadata is shown as its names and texts, not as JSON', () => {
  const detail = { metadata: '{"plan":"team","resumed":"by Ada"}' }
  expect(changeWords({ ...ACTION, detail, before: { metadata: '{"plan":"solo"}' } })).toBe(
    'Metadata: plan: solo → plan: team, resumed: by Ada',
  )
  const removed = { detail: { metadata: null }, before: { metadata: '{"plan":"team"}' } }
  expect(changeWords({ ...ACTION, ...removed })).toBe('Metadata removed: plan: team')
})

test('credit says the balance before and after it, and a settled request its charge', () => {
  const credit = { ...ACTION, action: 'addCredit', amount: -2_500_000 }
  expect(
    changeWords({ ...credit, detail: { purse: 'backed' }, before: { balance: 1_000_000 } }),
  ).toBe('Paid credit · Balance: $1.00 → −\u2060$1.50')
  const settled = { ...ACTION, action: 'settleRequest', amount: 18_530 }
  const before = { state: 'unresolved', charge: 0 }
  expect(changeWords({ ...settled, before })).toBe('Charge: $0.00 → $0.0185')
})

test('a change is by an operator, a token, or the command line', () => {
  const none = { user_id: null, user_name: null, user_email: null }
  expect(actorWords(ACTION)).toBe('Olga Operator')
  expect(actorWords(ACTION, true)).toBe('Olga Operator, olga@example.com')
  expect(actorWords({ ...ACTION, ...none, token_id: 'atok_1', token_name: 'billing' })).toBe(
    'token billing',
  )
  for (const token_name of ['command line', 'gateway']) {
    expect(actorWords({ ...ACTION, ...none, token_name })).toBe(token_name)
  }
})

test('people are namesakes if another person has their name, not if they are there twice', () => {
  const [olga, ada] = ['Olga', 'Ada']
  const people = [
    { id: 'user_1', name: olga },
    { id: 'user_2', name: ada },
    { id: 'user_1', name: olga },
    { id: 'user_3', name: olga },
    { id: null, name: null },
  ]
  expect([...namesakes(people)]).toEqual(['user_1', 'user_3'])
})

test('a sign-in names its address and browser, and a failed one is not the deed of the operator', () => {
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0'
  const detail = { method: 'password', address: '203.0.113.9', browser: agent, not_recorded: 41 }
  const failed = { ...ACTION, action: 'failedSignIn', account_id: null, target_id: null, detail }
  expect(changeWords(failed)).toBe(
    'By: password · Address: 203.0.113.9 · Browser: Firefox on Linux · Not recorded since the last such attempt: 41',
  )
  expect(actorWords(failed)).toBe('unknown, as Olga Operator')
  expect(actorWords({ ...failed, action: 'signIn' })).toBe('Olga Operator')
})
