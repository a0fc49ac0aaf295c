/**
 * The most characters of the texts that people type. The server refuses longer texts, and the fields of the page take no
 * more.
 */
export const TEXT_CHARS_MAX = {
  /** The name of an account, a user, an API key and so on. */
  name: 200,
  email: 320,
  /** The text that a list is searched for. */
  search: 200,
  /** The reference of credit that is added or removed. */
  reference: 200,
  /** The reason why an account is suspended or resumed. */
  suspensionNote: 200,
  /** The reason why a purchase is dismissed. */
  dismissalNote: 500,
  creditCode: 100,
  webhookUrl: 2_000,
  buyerAddress: 500,
  taxId: 50,
  password: 128,
  /** The code of an authenticator app, or a recovery code. */
  factorCode: 40,
} as const

/** The fewest characters of a new password. */
export const PASSWORD_CHARS_MIN = 12
