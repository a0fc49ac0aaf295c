import { expect, test } from 'vitest'
import { readMetadata, typedMetadata } from './metadata.ts'

test('notes are typed one a line, and read as they were', () => {
  const notes = { plan: 'team', page: 'https://desk.example/42', empty: '' }
  expect(typedMetadata(notes)).toBe('plan: team\npage: https://desk.example/42\nempty: ')
  expect(readMetadata(typedMetadata(notes))).toEqual(notes)
})

test('empty lines and spaces around a name and its value are left out', () => {
  expect(readMetadata('\n  plan :  team \n\n')).toEqual({ plan: 'team' })
  expect(readMetadata('')).toEqual({})
})

test.for(['plan', ': team', 'plan: team\nplan: free'])('%j is not a list of notes', (typed) => {
  expect(readMetadata(typed)).toBeNull()
})
