import { Link } from '@tanstack/react-router'
import { Icon, type IconName } from '../parts/icon.tsx'
import { useContact, useServiceName } from '../parts/service-name.tsx'
import { chooseTheme, type Theme, useTheme } from './theme.ts'
import { useSignOut } from './use-sign-out.ts'

const THEMES: readonly { readonly theme: Theme; readonly text: string; readonly icon: IconName }[] =
  [
    { theme: 'light', text: 'Light', icon: 'sun' },
    { theme: 'dark', text: 'Dark', icon: 'moon' },
    { theme: 'system', text: 'System', icon: 'screen' },
  ]

/** The profile, the theme, the shortcuts, the API reference, the contact, and signing out. */
export function UserMenu({ onPick, onHelp }: { onPick: () => void; onHelp: () => void }) {
  const theme = useTheme()
  const signOut = useSignOut()
  const service = useServiceName()
  const contact = useContact()
  return (
    <>
      <Link className="menu-item" to="/profile" onClick={onPick}>
        <Icon name="user" />
        <span>Profile</span>
      </Link>
      <div className="menu-rule" />
      {THEMES.map((choice) => (
        <button
          key={choice.theme}
          type="button"
          className="menu-item"
          aria-pressed={choice.theme === theme}
          onClick={() => {
            chooseTheme(choice.theme)
            onPick()
          }}
        >
          <Icon name={choice.icon} />
          <span className="flex-1">{choice.text}</span>
          {choice.theme === theme && <Icon name="check" />}
        </button>
      ))}
      <div className="menu-rule" />
      <button
        type="button"
        className="menu-item"
        onClick={() => {
          onPick()
          onHelp()
        }}
      >
        <Icon name="help" />
        <span className="flex-1">Keyboard</span>
        <kbd>?</kbd>
      </button>
      <a className="menu-item" href="/docs">
        <Icon name="activity" />
        <span>API reference</span>
      </a>
      {contact !== null && (
        <a className="menu-item" href={contact}>
          <Icon name="send" />
          <span>Contact {service}</span>
        </a>
      )}
      <div className="menu-rule" />
      <button type="button" className="menu-item" onClick={signOut}>
        <Icon name="leave" />
        <span>Sign out</span>
      </button>
    </>
  )
}
