import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { DAY_MS, HOUR_MS } from '../../../src/vocabulary/clock.ts'
import { REFUSALS_KEPT_DAYS } from '../../../src/vocabulary/date-range.ts'
import type { Refusals as Counted } from '../../api/answers.ts'
import { currentMs, currentTime } from '../../api/clock.ts'
import { count, counted } from '../../format/numbers.ts'
import { dayAndShortMinute, minuteTime } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { Heads } from '../../parts/list-card.tsx'
import { Prose } from '../../parts/prose.tsx'
import { Grey, NotLoaded } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import type { ActivitySearch } from './search.ts'
import type { RequestSource } from './use-activity.ts'
import { useRefusals } from './use-refusals.ts'

const CODES_MAX = 2
// Each takes a line there, or nearly.
const PHONE_CODES_MAX = 1
const KEYS_MAX = 4
const KEPT_MS = REFUSALS_KEPT_DAYS * DAY_MS

interface RefusalsProps {
  readonly source: RequestSource
  readonly search: ActivitySearch
}

/** Why requests were refused before they were forwarded. They are not in the list: only their number is known. */
export function Refusals({ source, search }: RefusalsProps) {
  const query = useRefusals(source, search)
  const { data } = query
  if (source.accountId === null) {
    return (
      <p className="note mb-3.5">
        Requests that are refused before they are forwarded are not listed. Choose an account to see
        how many there were, and why.
      </p>
    )
  }
  if (data === undefined && query.isError) {
    return (
      <p className="note mb-3.5">
        <NotLoaded what="Refused requests could not be loaded" query={query} />
      </p>
    )
  }
  if (data === undefined) {
    return (
      <p className="note mb-3.5" aria-hidden="true">
        <Grey width={320} />
      </p>
    )
  }
  const withKeys = withKeysOf(search)
  if (data.requests === 0) {
    return <p className="note mb-3.5">{noneText(data, withKeys)}</p>
  }
  return (
    <Reasons source={source} counts={data} withKeys={withKeys} unapplied={unappliedOf(search)} />
  )
}

/** When the counts begin that are kept, if the range begins before that; null: all of the range is counted. */
function keptSince({ from }: Counted): Date | null {
  const keptMs = Math.floor(currentMs() / HOUR_MS) * HOUR_MS - KEPT_MS
  return Date.parse(from) < keptMs ? new Date(keptMs) : null
}

/** By position: the counts, and ` with this key`, or nothing. */
function noneText(counts: Counted, withKeys: string): string {
  const since = keptSince(counts)
  if (since === null) return `No requests${withKeys} were refused before they were forwarded.`
  const day = dayAndShortMinute(since, currentTime())
  return Date.parse(counts.to) <= since.getTime()
    ? `The refused requests of this range are no longer known: counts before ${day} are not kept.`
    : `No requests${withKeys} were refused since ${day}. Older counts are not kept.`
}

function withKeysOf({ key = [] }: ActivitySearch): string {
  return key.length === 0 ? '' : key.length === 1 ? ' with this key' : ' with these keys'
}

/** `model and tag`: the filters of the list that do not apply, because nothing else of such a request is kept. */
function unappliedOf({ failed, state, ...search }: ActivitySearch): string {
  const named = { ...search, state: failed ?? state }
  const names = (['model', 'upstream', 'state', 'endpoint', 'tag'] as const).filter(
    (name) => named[name] !== undefined,
  )
  return new Intl.ListFormat('en-GB').format(names)
}

interface ReasonsProps {
  readonly source: RequestSource
  readonly counts: Counted
  /** ` with this key`; empty: of all keys. */
  readonly withKeys: string
  /** Empty: there are none. */
  readonly unapplied: string
}

function Reasons({ source, counts, withKeys, unapplied }: ReasonsProps) {
  const { requests, codes } = counts
  const since = keptSince(counts)
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      className="card refusals"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <span>
          <b>{counted(requests, 'request')}</b>
          {withKeys} {requests === 1 ? 'was' : 'were'} refused before{' '}
          {requests === 1 ? 'it was' : 'they were'} forwarded
          {since !== null && `, since ${dayAndShortMinute(since, currentTime())}`}
        </span>
        {unapplied !== '' && <span>not filtered by {unapplied}</span>}
        {codes.slice(0, CODES_MAX).map(({ code, requests: times, latest_at }, place) => (
          <span key={code} className={place < PHONE_CODES_MAX ? '' : 'hide-s'}>
            <b>{count(times)}</b> <span className="mono">{code}</span>, last{' '}
            <Time at={latest_at} show={lastTime} />
          </span>
        ))}
        <Others className="hide-s" codes={codes.slice(CODES_MAX)} />
        <Others className="only-s" codes={codes.slice(PHONE_CODES_MAX)} />
        <Icon name="down" small />
      </summary>
      {isOpen && <ByCode source={source} counts={counts} />}
    </details>
  )
}

interface ByCodeProps {
  readonly source: RequestSource
  readonly counts: Counted
}

function ByCode({ source, counts }: ByCodeProps) {
  const since = keptSince(counts)
  return (
    <>
      <table className="cards" aria-label="Refused requests">
        <Heads heads={HEADS} />
        <tbody>
          {counts.codes.map((each) => (
            <tr key={each.code}>
              <td className="of-code">
                <span className="mono">{each.code}</span>
                <Keys source={source} counts={counts} {...each} />
              </td>
              <td className="num">
                {count(each.requests)}
                <span className="two only-t">
                  last <Time at={each.latest_at} show={lastTime} />
                </span>
              </td>
              <td className="hide-t">
                <span className="only-s">last </span>
                <Time at={each.latest_at} show={lastTime} />
              </td>
              <td className="wide">
                <Prose text={each.remedy} />
                <span className="two">
                  <Prose text={each.meaning} />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="note">
        Counted by the hour, since{' '}
        {dayAndShortMinute(since ?? new Date(counts.from), currentTime())}.{' '}
        {since === null
          ? `Counts are kept for ${REFUSALS_KEPT_DAYS} days.`
          : 'Older counts are not kept.'}{' '}
        Requests with an unknown API key belong to no account, and are not counted.
      </p>
    </>
  )
}

const HEADS = [
  { text: 'Error and API keys' },
  { text: 'Requests', className: 'num' },
  { text: 'Last', className: 'hide-t' },
  { text: 'What to do' },
] as const

/** `14:02` today, `21 Nov, 14:02` before. */
function lastTime(at: Date, now: Date): string {
  return at.toDateString() === now.toDateString() ? minuteTime(at) : dayAndShortMinute(at, now)
}

interface OthersProps {
  readonly className: string
  readonly codes: Counted['codes']
}

function Others({ className, codes }: OthersProps) {
  const requests = codes.reduce((sum, each) => sum + each.requests, 0)
  return requests > 0 && <span className={className}>{count(requests)} with other codes</span>
}

type KeysProps = ByCodeProps & Counted['codes'][number]

/** The API keys whose requests were refused with a code, the most frequent first, each with a link to its settings. */
function Keys({ source: { as, accountId }, counts, code, requests }: KeysProps) {
  const named = counts.keys.filter((each) => each.code === code).slice(0, KEYS_MAX)
  const others = requests - named.reduce((sum, each) => sum + each.requests, 0)
  return (
    <>
      {named.map(({ key_id, key_name, key_deleted, requests: times }) => (
        <span key={key_id} className="two">
          {key_name === null || key_deleted || accountId === null ? (
            (key_name ?? `key …${key_id.slice(-6)}`)
          ) : (
            <Link
              className="hover:underline"
              to={as === 'operator' ? '/operator/accounts/$account/keys' : '/$account/keys'}
              params={{ account: accountId }}
              search={{ find: key_name }}
            >
              {key_name}
            </Link>
          )}
          {key_deleted && ' (deleted)'}
          {requests > times && `: ${count(times)}`}
        </span>
      ))}
      {others > 0 && <span className="two">other keys: {count(others)}</span>}
    </>
  )
}
