import { expect, test } from 'vitest'
import { checkCommentBeginnings, checkLabels, checkPlainEnglish } from './plain-english.ts'
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

test('a retired label of the page fails', async () => {
  const verdict = await judgeToyTree(checkLabels, {
    'web/a.tsx': `export const heads = [{ text: 'Charged' }]\nexport const cell = <b>Charged</b>\n`,
  })
  expect(verdict).toEqual([
    expect.stringMatching(/^web\/a\.tsx:1 "Charged": say /),
    expect.stringMatching(/^web\/a\.tsx:2 "Charged": say /),
  ])
})

test('doc comments that begin with a noun or a verb pass, as do other comments', async () => {
  const verdict = await judgeToyTree(checkCommentBeginnings, {
    'src/a.ts': `/** The key. */\nexport const key = 1\n/** Adds what is new. */\nexport const sum = 1\n// Of two.\n`,
  })
  expect(verdict).toEqual([])
})

test.each(['What', 'Who', 'Whose', 'Those', 'Of'])(
  'a doc comment that begins with "%s" fails',
  async (word) => {
    const verdict = await judgeToyTree(checkCommentBeginnings, {
      'test/a.ts': `/** ${word} it has. */\nexport const a = 1\n\n/**\n * ${word} it has.\n */\nexport const b = 1\n`,
    })
    expect(verdict).toEqual([
      expect.stringMatching(/^test\/a\.ts:1 the comment begins with/),
      expect.stringMatching(/^test\/a\.ts:4 the comment begins with/),
    ])
  },
)

test('texts in comments, names, tests and single words are not checked', async () => {
  const verdict = await judgeToyTree(checkPlainEnglish, {
    'src/a.ts': `// Nobody is told.\nexport const told = 'nobody'\n`,
    'src/a.test.ts': `test('nobody is told', () => {})\n`,
  })
  expect(verdict).toEqual([])
})
