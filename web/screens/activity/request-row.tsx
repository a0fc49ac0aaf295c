import { Link } from '@tanstack/react-router'
import type { ActivityRequest } from '../../api/answers.ts'
import { money } from '../../format/money.ts'
import { count } from '../../format/numbers.ts'
import { duration, listTime } from '../../format/time.ts'
import { ModelName } from '../../parts/model-name.tsx'
import { useNow } from '../../parts/now.ts'
import { Time } from '../../parts/time.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { requestWord, takenMs } from './request-words.ts'

/** The heads of the table of requests. */
export function RequestHeads() {
  return (
    <thead>
      <tr>
        <th scope="col">Time</th>
        <th scope="col">Model</th>
        <th scope="col" className="hide-s hide-m beside">
          Key
        </th>
        <th scope="col" className="num">
          Tokens
        </th>
        <th scope="col" className="num hide-m">
          Taken
        </th>
        <th scope="col" className="num">
          Charge
        </th>
        <th scope="col">State</th>
      </tr>
    </thead>
  )
}

interface RequestRowProps {
  readonly request: ActivityRequest
  readonly keyName: string
  readonly isOpen: boolean
  readonly isFresh: boolean
  readonly onOpen: (requestId: string) => void
}

/** A request: on a phone, a card of two lines. */
export function RequestRow({ request, keyName, isOpen, isFresh, onOpen }: RequestRowProps) {
  const account = useAccountId()
  const { word, tone } = requestWord(request)
  const openedAt = new Date(request.opened_at)
  const time = <Time at={openedAt}>{listTime(openedAt, new Date())}</Time>
  return (
    <tr
      aria-current={isOpen ? 'true' : undefined}
      className={isFresh ? 'fresh' : ''}
      onClick={(event) => {
        if (!event.defaultPrevented) onOpen(request.id)
      }}
    >
      <td className="hide-s">{time}</td>
      <td className="model">
        <Link
          className="open-it"
          data-request={request.id}
          from="/$account/activity"
          to="/$account/activity"
          params={{ account }}
          search={(search) => ({ ...search, request: request.id })}
          replace={isOpen}
          resetScroll={false}
          preload={false}
          title={`${request.model}, key ${keyName}`}
        >
          <ModelName id={request.model} />
        </Link>
      </td>
      <td className="hide-s hide-m beside text-ink-2">{keyName}</td>
      <td className="num hide-s">
        <Tokens request={request} />
      </td>
      <td className="num hide-s hide-m">
        <Taken request={request} />
      </td>
      <td className="num">
        <Charge request={request} />
      </td>
      <td className="only-s dimmed">
        {time} · {keyName}
      </td>
      <td>
        <span className={`chip ${tone}`}>{word}</span>
      </td>
    </tr>
  )
}

function Tokens({ request: { usage } }: { request: ActivityRequest }) {
  if (usage === null) return <span className="dimmed">–</span>
  return (
    <>
      {count(usage.input_tokens)} <span className="dimmed">→</span> {count(usage.output_tokens)}
    </>
  )
}

function Taken({ request }: { request: ActivityRequest }) {
  const elapsedMs = takenMs(request)
  if (elapsedMs !== null) return duration(elapsedMs)
  return request.state === 'open' ? <Running since={request.opened_at} /> : <>–</>
}

/** The time that a request has run, in whole seconds. */
function Running({ since }: { since: string }) {
  const seconds = Math.max(0, Math.floor((useNow().getTime() - Date.parse(since)) / 1_000))
  return <span className="dimmed">{seconds} s</span>
}

function Charge({ request: { state, held, charge } }: { request: ActivityRequest }) {
  if (state === 'open' || state === 'unresolved') {
    return <span className="dimmed">held {money(held, 4)}</span>
  }
  return charge === 0 ? <span className="dimmed">$0.00</span> : money(charge, 4)
}
