import { expect, test } from 'vitest'
import { checkPlainEnglish } from './plain-english.ts'
import { judgeToyTree } from './toy-tree.ts'

test('plain sentences pass, in pages and in texts of the server', async () => {
  const verdict = await judgeToyTree(checkPlainEnglish, {
    'docs/a.md': '# A\n\nThe operator configures at most one proxy. `nobody` is a user.\n',
    'src/a.ts': `export const text = 'No model has this id.'\n`,
  })
  expect(verdict).toEqual([])
})

test.each([
  'Whoever asks is answered.',
  'It works, whatever the proxy does.',
  'Nobody is asked.',
  'The client is told.',
  '`text` at all: a bug.',
  '/docs lists what there is.',
  'Ten at the most.',
  'It was looked up in vain.',
  'It is billed all the same.',
  'It is read anew.',
  'Ask as often as one likes.',
  'It can not be read.',
  'It ran at a dearer tier.',
])('a page and a text of the server fail: %s', async (sentence) => {
  const verdict = await judgeToyTree(checkPlainEnglish, {
    'docs/a.md': `# A\n\n${sentence}\n`,
    'src/a.ts': `export const text = ${JSON.stringify(sentence)}\nexport const more = \`\${text} ${sentence.replaceAll('`', '')}\`\n`,
  })
  expect(verdict).toEqual([
    expect.stringMatching(/^docs\/a\.md:3 ".+": say /),
    expect.stringMatching(/^src\/a\.ts:1 ".+": say /),
    expect.stringMatching(/^src\/a\.ts:2 ".+": say /),
  ])
})

test.each([
  'It is no setting any more.',
  'It lists what the requests of a day came to.',
  'The external id is taken.',
])('a retired phrase fails, but not in past releases: %s', async (sentence) => {
  const verdict = await judgeToyTree(checkPlainEnglish, {
    'docs/a.md': `# A\n\n${sentence}\n`,
    'CHANGELOG.md': `# A\n\n${sentence}\n`,
  })
  expect(verdict).toEqual([expect.stringMatching(/^docs\/a\.md:3 ".+": say /)])
})

test('comments, names, tests and single words are not checked', async () => {
  const verdict = await judgeToyTree(checkPlainEnglish, {
    'src/a.ts': `// Nobody is told.\nexport const told = 'nobody'\n`,
    'src/a.test.ts': `test('nobody is told', () => {})\n`,
  })
  expect(verdict).toEqual([])
})
