/** The email address that a user signs in with, as the properties of its field. */
export const EMAIL = {
  label: 'Email',
  name: 'email',
  type: 'email',
  autoComplete: 'username',
  required: true,
} as const

/** The password that a user signs in with, as the properties of its field. */
export const PASSWORD = {
  label: 'Password',
  name: 'password',
  type: 'password',
  required: true,
  autoComplete: 'current-password',
} as const
