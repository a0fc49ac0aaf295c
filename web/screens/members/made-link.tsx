import { MadeSecret } from '../../parts/made-secret.tsx'
import { useMe } from '../../shell/use-account.ts'

interface MadeLinkProps {
  /** The email address of the invited person. */
  readonly email: string
  readonly url: string
  readonly onDone: () => void
}

/** The link of an invitation that was just made, for the person who invites to send. */
export function MadeLink({ email, url, onDone }: MadeLinkProps) {
  const { user } = useMe()
  return (
    <MadeSecret
      title={`An invitation for ${email} is ready`}
      text={linkHere(url)}
      noun="link"
      words={linkWords(email, { url, isOperator: user.is_operator })}
      onDone={onDone}
    />
  )
}

// Without a public address, the gateway's own links have a name of its machine.
function isLocal(url: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname)
}

/** The link, at the address of this page if the gateway has no public one: a forwarded port has another number here. */
function linkHere(url: string): string {
  const { pathname, hash } = new URL(url)
  return isLocal(url) ? `${location.origin}${pathname}${hash}` : url
}

/** By position: the invited person's email address, and the link, with whether the reader can change the settings. */
function linkWords(
  email: string,
  { url, isOperator }: { readonly url: string; readonly isOperator: boolean },
): string {
  const advice = isOperator ? ': set TOLLGATE_PUBLIC_URL' : ''
  const reach = isLocal(url) ? ` It works only on this machine${advice}.` : ''
  return `Send this link to ${email}. It is shown only once, and only its SHA-256 is stored.${reach}`
}
