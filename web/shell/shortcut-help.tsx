import { commandKey } from '../parts/command-key.ts'
import { CloseFooter, Dialog } from '../parts/dialog.tsx'
import type { Navigation } from './section-links.tsx'

const KEYS: readonly (readonly [keys: readonly string[], text: string])[] = [
  [['/'], 'Move to the search field'],
  [['j', 'k'], 'Next, previous request'],
  [['Enter'], 'Open the request'],
  [['Esc'], 'Close'],
]

interface ShortcutHelpProps extends Pick<Navigation, 'sections'> {
  readonly onClose: () => void
}

/** The shortcuts and their effects. */
export function ShortcutHelp({ sections, onClose }: ShortcutHelpProps) {
  const keys = [
    ...KEYS,
    [[commandKey(), 'K'], 'Search or jump to'] as const,
    ...sections.map(({ key, text }) => [['g', key], text] as const),
    [['?'], 'This list'] as const,
  ]
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl className="keys-help">
        {keys.map(([pressed, text]) => (
          <div key={text} className="contents">
            <dt>
              {pressed.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <CloseFooter />
    </Dialog>
  )
}
