import { expect, test } from 'vitest'
import { makeScryptPasswords, noPassword, scryptPasswords } from './passwords.ts'

// A sixteenth of the work, for answers that do not depend on the cost.
const QUICK_PASSWORDS = makeScryptPasswords({ N: 1_024, r: 16 })

test.each([
  [
    'correct horse battery',
    '2c1492936dca7837b52a66f804ec6334:aba8d1ae02d46b5a00dba7d6239e310f0349ad696244c5e715d48b896e23d2c907a0de775c758f183b3cf3426490a7f66617cfd703625ccef08946c83bd2b12e',
  ],
  [
    'Pässwörter und ﬁn Å２',
    '056df8835f310e1c61c06d4ab60e474c:e79fd03f7ea974a5d3127cfff817d4bc38ca90e7bdd417c8a9e1aa37d869ca7a9403c7f4fa869bf2b366c2e5c6e1e9bc6fa1351234fd6601130ad43313079688',
  ],
  [
    '密码密码密码密码密码密码🐎',
    '9651383da4cafd83b6e649f9536eac62:881670c0a346e304ebe40096fd9d39602d2b1cf8c2de254cdb390981804f63274b7e34fcfc8b06e465d907b25dc2c1b0a98b12a18be1ba18ab752b2a8ec87ea5',
  ],
])('a hash that better-auth 1.7 made of %j is still accepted', async (password, passwordHash) => {
  expect(await scryptPasswords.isRight({ passwordHash, password })).toBe(true)
  const decomposed = password.normalize('NFKD')
  expect(await scryptPasswords.isRight({ passwordHash, password: decomposed })).toBe(true)
  expect(await scryptPasswords.isRight({ passwordHash, password: `${password} ` })).toBe(false)
})

test('two hashes of a password differ, and both are accepted', async () => {
  const password = 'correct horse battery'
  const hashes = [await QUICK_PASSWORDS.hash(password), await QUICK_PASSWORDS.hash(password)]
  expect(hashes[0]).not.toBe(hashes[1])
  for (const passwordHash of hashes) {
    expect(await QUICK_PASSWORDS.isRight({ passwordHash, password })).toBe(true)
    expect(await QUICK_PASSWORDS.isRight({ passwordHash, password: 'another horse' })).toBe(false)
  }
})

test('no password is accepted for a user without a password, or for no user', async () => {
  for (const passwordHash of [noPassword(), null, '', '!', ':', 'a:b']) {
    for (const password of ['', '!', String(passwordHash)]) {
      expect(await QUICK_PASSWORDS.isRight({ passwordHash, password })).toBe(false)
    }
  }
})
