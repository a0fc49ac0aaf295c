import { Dialog } from '../parts/dialog.tsx'
import { SECTIONS } from './sections.ts'

const KEYS: readonly (readonly [keys: readonly string[], text: string])[] = [
  [['/'], 'Find a request'],
  [['j', 'k'], 'Next, previous request'],
  [['Enter'], 'Open the request'],
  [['Esc'], 'Close'],
  ...SECTIONS.map(({ key, text }) => [['g', key], text] as const),
  [['?'], 'This list'],
]

/** What the keys do. */
export function ShortcutHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl className="keys-help">
        {KEYS.map(([keys, text]) => (
          <div key={text} className="contents">
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <footer>
        <form method="dialog" className="contents">
          <button type="submit" className="btn">
            Close
          </button>
        </form>
      </footer>
    </Dialog>
  )
}
