import type { RequestHeaders } from './call.ts'
import { Problem } from './problem.ts'

/** The request header with a request's tags, separated by commas: words of the client by which usage can be grouped. */
export const TAGS_HEADER = 'x-service-tags'

/** The most tags of a request. */
export const TAGS_MAX = 8

/** The most characters of a tag. */
export const TAG_CHARS_MAX = 64

// Between commas; spaces and tabs around a tag are no part of it.
const HEADER_CHARS = /^[\t\x20-\x7e]*$/
const TAG_CHARS = /^[\x20-\x7e]+$/

/**
 * The tags of a request in the order in which they stand, each once; null: there are none. A header that is sent
 * twice is one list. Throws Problem `invalid_parameter`, which never repeats a tag: it may be about a person.
 */
export function readTags(headers: RequestHeaders): readonly string[] | null {
  const sent = headers[TAGS_HEADER]
  if (sent === undefined) return null
  const text = typeof sent === 'string' ? sent : sent.join(',')
  if (!HEADER_CHARS.test(text)) throw badTags(NOT_PRINTABLE)
  const tags = new Set(text.split(',').map((tag) => tag.trim()))
  // A list may have empty elements, as RFC 9110 (5.6.1) says.
  tags.delete('')
  for (const tag of tags) {
    if (!TAG_CHARS.test(tag)) throw badTags(NOT_PRINTABLE)
    if (tag.length > TAG_CHARS_MAX) {
      throw badTags(`has a tag of ${tag.length} characters; a tag has at most ${TAG_CHARS_MAX}.`)
    }
  }
  if (tags.size > TAGS_MAX) {
    throw badTags(`has ${tags.size} different tags; a request has at most ${TAGS_MAX}.`)
  }
  return tags.size === 0 ? null : [...tags]
}

const NOT_PRINTABLE = 'has a character that is not printable ASCII.'

function badTags(fault: string): Problem {
  return new Problem('invalid_parameter', {
    message: `The header \`${TAGS_HEADER}\` ${fault}`,
    param: TAGS_HEADER,
  })
}
