import type { UseQueryResult } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Model } from '../../api/answers.ts'
import { money } from '../../format/money.ts'
import { count } from '../../format/numbers.ts'
import { priceLines, pricesTitle, tierSentences } from '../../format/prices.ts'
import { duration } from '../../format/time.ts'
import { DrawerPart, Line } from '../../parts/drawer-part.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Grey, NotLoaded } from '../../parts/states.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { SPOKEN } from '../playground/formats.ts'
import { ModelDetails } from './model-details.tsx'
import type { ModelUse } from './model-list.ts'

interface ModelDrawerProps {
  readonly model: Model
  /** Null: the account has not used it in the last 30 days; undefined: that is not known. */
  readonly use: ModelUse | null | undefined
  /** The call that tells it. */
  readonly usage: UseQueryResult<unknown>
  readonly onClose: () => void
}

/** Everything the catalog has of a model, and what the account has used of it. */
export function ModelDrawer({ model, use, usage, onClose }: ModelDrawerProps) {
  const { id, endpoints } = model
  const account = useAccountId()
  const params = { account }
  const acts = (
    <div className="acts">
      {SPOKEN.some((one) => endpoints.includes(one)) && (
        <Link className="btn pri" to="/$account/playground" params={params} search={{ model: id }}>
          <Icon name="chat" />
          Try
        </Link>
      )}
      <Link className="btn" to="/$account/connect" params={params} search={{ model: id }}>
        <Icon name="code" />
        Copy code
      </Link>
    </div>
  )
  return (
    <ModelDetails model={model} lead={acts} prices={<Prices model={model} />} onClose={onClose}>
      <DrawerPart title="Your use, last 30 days">
        <Use use={use} usage={usage} />
      </DrawerPart>
    </ModelDetails>
  )
}

function Prices({ model }: { model: Model }) {
  const lines = priceLines(model)
  return (
    <DrawerPart title={pricesTitle(lines)}>
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

function Use({ use, usage }: Pick<ModelDrawerProps, 'use' | 'usage'>) {
  if (use === undefined) {
    return usage.isError ? (
      <p className="note">
        <NotLoaded what="The usage could not be loaded" query={usage} />
      </p>
    ) : (
      <Grey width="100%" />
    )
  }
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
