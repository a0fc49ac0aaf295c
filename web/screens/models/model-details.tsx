import { type ReactNode, useEffect, useRef } from 'react'
import type { Model } from '../../api/answers.ts'
import { count } from '../../format/numbers.ts'
import { DrawerHead, DrawerPart, Line, Words } from '../../parts/drawer-part.tsx'
import { paysFree } from './model-list.ts'

interface ModelDetailsProps {
  readonly model: Model
  /** Below the description. Default: nothing. */
  readonly lead?: ReactNode
  readonly prices: ReactNode
  /** At the end. */
  readonly children: ReactNode
  readonly onClose: () => void
}

/** A drawer with everything the catalog has of a model, for customers and for operators. */
export function ModelDetails({ model, lead, prices, children, onClose }: ModelDetailsProps) {
  const { id, name, description, endpoints, supported_parameters: parameters } = model
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const before = document.activeElement
    heading.current?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const hasDescription = (description ?? '') !== ''
  return (
    <aside className="card drawer" aria-label="Model">
      <DrawerHead noun="model" title={name ?? id} id={id} heading={heading} onClose={onClose} />
      {(hasDescription || lead !== undefined) && (
        <section>
          {hasDescription && <p className="lead">{description}</p>}
          {lead}
        </section>
      )}
      {prices}
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
      {children}
    </aside>
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
