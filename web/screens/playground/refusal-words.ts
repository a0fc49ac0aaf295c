const CAP = '`(?:max_tokens|max_completion_tokens|max_output_tokens)`'
const ADVICE = new RegExp(`\\bWith ${CAP} of`, 'g')
const FIRST_WORD = new RegExp(`(^|[.!?] )${CAP}`, 'g')
const WITHIN = new RegExp(CAP, 'g')

/** The message of a refusal, with the output cap by the name of its field on the page instead of its name in the API. */
export function refusalWords(message: string): string {
  return message
    .replace(ADVICE, 'With an output cap of')
    .replace(FIRST_WORD, '$1The output cap')
    .replace(WITHIN, 'the output cap')
}
