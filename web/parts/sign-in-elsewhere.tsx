/** Where to sign in when a session has ended, without losing what was typed: it is sent again afterwards. */
export function SignInElsewhere() {
  return (
    <p>
      <a className="link" href="/app/sign-in" target="_blank" rel="noreferrer">
        Sign in in another tab
      </a>
      , then continue here. Your text is kept.
    </p>
  )
}
