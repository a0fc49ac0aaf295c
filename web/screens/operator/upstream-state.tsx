import { Link } from '@tanstack/react-router'
import type { ListedUpstream } from '../../api/operator.ts'
import { duration } from '../../format/time.ts'
import { Empty } from '../../parts/states.tsx'

const STATES: Readonly<Record<ListedUpstream['state'], { word: string; tone: string }>> = {
  healthy: { word: 'Healthy', tone: 'good' },
  failing: { word: 'Failing', tone: 'bad' },
  unreachable: { word: 'Unreachable', tone: 'bad' },
  no_models: { word: 'No models', tone: 'bad' },
  credit_low: { word: 'Credit low', tone: 'wait' },
  key_refused: { word: 'Key refused', tone: 'bad' },
}

/** The state of an upstream in one word. */
export function StateChip({ state }: Pick<ListedUpstream, 'state'>) {
  const { word, tone } = STATES[state]
  return <span className={`chip ${tone}`}>{word}</span>
}

const DIALECTS: Readonly<Record<string, string>> = {
  anthropic: 'Anthropic',
  openai: 'OpenAI',
  'openai-compatible': 'OpenAI-compatible',
  openrouter: 'OpenRouter',
}

/** The API that an upstream speaks, by the name of its owner: `OpenRouter`. */
export function dialectName(dialect: string): string {
  return DIALECTS[dialect] ?? dialect
}

/** The cell of an upstream's name, with its dialect. */
export function NameCell({ name, dialect }: Pick<ListedUpstream, 'name' | 'dialect'>) {
  return (
    <td className="name">
      <Link className="hover:underline" to="/operator/upstreams/$name" params={{ name }}>
        <b title={name}>{name}</b>
      </Link>
      <span className="two">{dialectName(dialect)}</span>
    </td>
  )
}

/** The cell of the time to the first byte; null: no request was measured. */
export function FirstByteCell({ ms }: { readonly ms: number | null }) {
  return (
    <td className="num hide-s hide-m">
      {ms === null ? <span className="dimmed">–</span> : duration(ms)}
    </td>
  )
}

/** A list of upstreams without any. */
export function NoUpstreams() {
  return (
    <Empty title="The built-in simulator answers.">
      <p>
        For real models, set <code>UPSTREAM_DIALECT</code> and <code>UPSTREAM_API_KEY</code> in{' '}
        <code>.env</code> and restart tollgate: see <code>docs/upstreams.md</code>.
      </p>
    </Empty>
  )
}
