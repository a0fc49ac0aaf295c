import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { Model } from '../../api/answers.ts'
import { money } from '../../format/money.ts'
import { count } from '../../format/numbers.ts'
import { priceLines, tierSentences } from '../../format/prices.ts'
import { duration } from '../../format/time.ts'
import { DrawerHead, DrawerPart, Line, Words } from '../../parts/drawer-part.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { type ModelUse, paysFree } from './model-list.ts'

interface ModelDrawerProps {
  readonly model: Model
  /** Null: the account has not used it in the last 30 days. */
  readonly use: ModelUse | null
  readonly onClose: () => void
}

/** Everything the catalog has of a model, and what the account has used of it. */
export function ModelDrawer({ model, use, onClose }: ModelDrawerProps) {
  const { id, name, description, endpoints, supported_parameters: parameters } = model
  const account = useAccountId()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const before = document.activeElement
    heading.current?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const params = { account }
  return (
    <aside className="card drawer" aria-label="Model">
      <DrawerHead noun="model" title={name ?? id} id={id} heading={heading} onClose={onClose} />
      <section>
        {(description ?? '') !== '' && <p className="lead">{description}</p>}
        <div className="acts">
          {endpoints.some((one) => CHATS.has(one)) && (
            <Link
              className="btn pri"
              to="/$account/playground"
              params={params}
              search={{ model: id }}
            >
              <Icon name="chat" />
              Try
            </Link>
          )}
          <Link className="btn" to="/$account/connect" params={params} search={{ model: id }}>
            <Icon name="code" />
            Copy code
          </Link>
        </div>
      </section>
      <Prices model={model} />
      <DrawerPart title="Limits">
        <Limits model={model} />
      </DrawerPart>
      <DrawerPart title="Endpoints">
        <Words words={endpoints} />
      </DrawerPart>
      {parameters.length > 0 && (
        <DrawerPart title="Supports">
          <Words words={parameters.map((one) => one.replaceAll('_', ' '))} />
        </DrawerPart>
      )}
      <DrawerPart title="Your use, last 30 days">
        <Use use={use} />
      </DrawerPart>
    </aside>
  )
}

const CHATS: ReadonlySet<string> = new Set(['chat', 'messages', 'responses'])

function Prices({ model }: { model: Model }) {
  const lines = priceLines(model)
  const isByToken = lines.some((line) => line.isByToken)
  return (
    <DrawerPart title={isByToken ? 'Prices per million tokens' : 'Prices'}>
      {lines.length === 0 ? (
        <p className="note">Free.</p>
      ) : (
        <dl className="kv">
          {lines.map(({ term, text, isPart }) => (
            <Line key={term} term={term} className={isPart ? 'sub' : ''}>
              {text}
            </Line>
          ))}
        </dl>
      )}
      {tierSentences(model).map((sentence) => (
        <p key={sentence} className="note mt-2">
          {sentence}
        </p>
      ))}
    </DrawerPart>
  )
}

function Use({ use }: Pick<ModelDrawerProps, 'use'>) {
  if (use === null) return <p className="note">No requests in the last 30 days.</p>
  return (
    <dl className="kv">
      <Line term="Requests">{count(use.requests)}</Line>
      <Line term="Spend">{money(use.chargeMicros)}</Line>
      {use.firstByteMs !== null && (
        <Line term="First byte, median">{duration(use.firstByteMs)}</Line>
      )}
    </dl>
  )
}

function Limits({ model }: { model: Model }) {
  const { context_length: context, top_provider: top, architecture } = model
  const tokens = (value: number | null | undefined) =>
    value === null || value === undefined ? 'not listed' : `${count(value)} tokens`
  return (
    <dl className="kv">
      <Line term="Context window">{tokens(context)}</Line>
      <Line term="Maximum output">{tokens(top.max_completion_tokens)}</Line>
      <Line term="Reads">{architecture.input_modalities.join(', ')}</Line>
      <Line term="Writes">{architecture.output_modalities.join(', ')}</Line>
      <Line term="Free credit">{paysFree(model) ? 'pays for it' : 'does not pay for it'}</Line>
    </dl>
  )
}
