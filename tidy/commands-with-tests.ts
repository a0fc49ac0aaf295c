import type { CommandWithTest } from './documented-commands.ts'

const README_SNIPPETS = [
  'export API_KEY=sk-tollgate-...',
  `curl -i http://127.0.0.1:8787/v1/chat/completions -H "authorization: Bearer $API_KEY" -d '{"model":"sim/text","messages":[{"role":"user","content":"Say hello."}]}'`,
]

const README_COMMANDS = [
  'npx tollgate request list',
  'npx tollgate audit',
  'npx tollgate account create "Ada Lovelace"',
  'npx tollgate credit grant acct_... 25 --reference invoice-1042',
  'npx tollgate key create acct_... --name laptop --limit 10',
]

const MOVING_COMMANDS = [
  'npx tollgate copy --to postgres://tollgate:password@127.0.0.1:5432/tollgate',
  'export DATABASE_URL=postgres://tollgate:password@127.0.0.1:5432/tollgate',
  'npx tollgate audit',
  'npx tollgate serve',
  'npx tollgate copy --to sqlite:./data/moved.db',
  'export DATABASE_URL=sqlite:./data/moved.db',
  'npx tollgate backup monday.db',
]

/** Commands of the pages that a test runs because the build does not. */
export const COMMANDS_WITH_TESTS: readonly CommandWithTest[] = [
  ...MOVING_COMMANDS.map((command) => ({
    command,
    testPath: 'test/moving-stores.test.ts',
    testName: 'the commands of docs/moving-stores.md move a store, there and back, and back it up',
  })),
  {
    command: 'npx tollgate --help',
    testPath: 'bin/tollgate.test.ts',
    testName: 'npx tollgate finds the launcher of the checkout',
  },
  ...README_SNIPPETS.map((command) => ({
    command,
    testPath: 'test/readme.test.ts',
    testName: 'the curl line of README answers, with its cost',
  })),
  ...README_COMMANDS.map((command) => ({
    command,
    testPath: 'test/readme.test.ts',
    testName:
      'the commands of README list requests, audit, and make an account that has credit and a key',
  })),
]
