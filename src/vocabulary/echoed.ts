const ECHOED_CHARS_MAX = 200

// No id of ours is a secret, however long it is.
const OWN_ID = /\b(?:acct|code|ent|inst|key|req)_\w+/g

// A prefix that services give their keys; a UUID; a credit code; or a run of characters as no name has it.
const KEY_LIKE = [
  /(?:^|[^a-z])(?:sk|pk|rk|gsk|ghp|gho|hf|xox[a-z]|api|bearer|basic|token)[-_ ]\S{8}/i,
  /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}/i,
  /(?:[\da-z]{6}-){3}[\da-z]{6}/i,
  /(?=\w*\d)(?=\w*[a-z])\w{24}/i,
]

/**
 * A client's text as a message may repeat it: at most 200 characters, none of which steers a terminal.
 * Null where nothing of it can be shown, or where it may be a key in the wrong place.
 */
export function echoed(text: string): string | null {
  const visible = text.slice(0, 10 * ECHOED_CHARS_MAX).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
  const checked = visible.replace(OWN_ID, '')
  if (visible.trim() === '' || KEY_LIKE.some((pattern) => pattern.test(checked))) return null
  const chars = [...visible]
  return chars.length > ECHOED_CHARS_MAX
    ? `${chars.slice(0, ECHOED_CHARS_MAX - 1).join('')}…`
    : visible
}
