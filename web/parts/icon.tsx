import { useServiceName } from './service-name.tsx'

const PATHS = {
  activity: 'M3.5 5.5h13M3.5 10h13M3.5 14.5h8',
  bin: 'M4.5 6h11M8 6V4h4v2m-6.5 0 .7 10.5h7.6L14.5 6M8.5 9v4.5m3-4.5v4.5',
  calendar: 'M4 5.5h12v11H4zM4 9h12M7.5 3.5v3.5m5-3.5v3.5',
  again: 'M15.5 8A6 6 0 1 0 16 11.5M15.8 4.5V8h-3.5',
  chat: 'M4 4.5h12v9H9.5L6 16.5v-3H4z',
  check: 'm5 10.5 3.5 3.5L15.5 6.5',
  clock: 'M10 16.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM10 6.5V10l2.5 1.5',
  close: 'm5.5 5.5 9 9m0-9-9 9',
  copy: 'M7.5 7.5V4.5h8v8h-3m-8-5h8v8h-8z',
  credit:
    'M3 6.5A1.5 1.5 0 0 1 4.5 5h11A1.5 1.5 0 0 1 17 6.5v7a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 3 13.5zM3 8.5h14',
  code: 'm7 6-4 4 4 4m6-8 4 4-4 4',
  down: 'm5 7.5 5 5 5-5',
  download: 'M10 4v8m-3.5-3L10 12.5 13.5 9M4.5 16h11',
  eye: 'M2.5 10S5.3 5 10 5s7.5 5 7.5 5-2.8 5-7.5 5-7.5-5-7.5-5zM10 12.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z',
  filter: 'M4 5.5h12M6.5 10h7M8.5 14.5h3',
  gift: 'M4 9.5h12v7H4zM3 6.5h14v3H3zM10 6.5v10M10 6.5C8.6 3 5.5 3.2 6 5.2c.3 1.1 2 1.3 4 1.3zm0 0c1.4-3.5 4.5-3.3 4-1.3-.3 1.1-2 1.3-4 1.3z',
  help: 'M10 16.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM8.2 8.2a1.9 1.9 0 1 1 2.6 2c-.5.2-.8.6-.8 1.2M10 13.5h.01',
  key: 'M12.6 11.2a3.8 3.8 0 1 0-3.6-3.6L3.5 13v3.5h3.3v-2h2v-2h1.7z',
  leave: 'M8 4H4.5v12H8m0-6h8.5m-3-3 3 3-3 3',
  left: 'm12 5-5 5 5 5',
  log: 'M5 3.5h7l3 3v10H5zM12 3.5v3h3M7.5 10h5m-5 3h5',
  models: 'm10 3 6 3.2v7.2L10 17l-6-3.6V6.2zM4 6.3l6 3.4 6-3.4M10 9.7V17',
  moon: 'M15.8 11.8A6.3 6.3 0 0 1 8.2 4.2 6.3 6.3 0 1 0 15.8 11.8z',
  more: 'M5 10h.01M10 10h.01M15 10h.01',
  overview: 'M3.5 9.2 10 4l6.5 5.2V16a.8.8 0 0 1-.8.8H4.3a.8.8 0 0 1-.8-.8zM8 16.5v-4.6h4v4.6',
  pause: 'M7.5 5v10m5-10v10',
  pencil: 'm12.5 5 2.5 2.5-8 8H4.5V13zM11 6.5 13.5 9',
  plug: 'M7.5 3.5v4m5-4v4M5.5 7.5h9v2.8a4.5 4.5 0 0 1-9 0zM10 14.8v2.7',
  plus: 'M10 4.5v11M4.5 10h11',
  minus: 'M4.5 10h11',
  right: 'm8 5 5 5-5 5',
  screen: 'M3.5 4.5h13v9h-13zM7.5 16.5h5M10 13.5v3',
  search: 'M9 14a5 5 0 1 0 0-10 5 5 0 0 0 0 10zm3.7-1.3L16.5 16.5',
  send: 'M16.5 3.5 3.5 8.7l5.3 2.5 2.5 5.3zm0 0-7.7 7.7',
  stop: 'M6 6h8v8H6z',
  shield: 'M10 3.2 4.5 5.3v4.3c0 3.4 2.2 6 5.5 7.2 3.3-1.2 5.5-3.8 5.5-7.2V5.3z',
  sun: 'M10 13.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM10 3v1.5m0 11V17M3 10h1.5m11 0H17M5 5l1.1 1.1m7.8 7.8L15 15m0-10-1.1 1.1M6.1 13.9 5 15',
  swap: 'm7 8 3-3 3 3M7 12l3 3 3-3',
  upstream: 'M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.01M7 13.5h.01',
  usage: 'M4 16.5V11m4 5.5v-8m4 8V12m4 4.5V5',
  users:
    'M7.8 9.6a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4zM2.8 16c.3-2.6 2.4-4.1 5-4.1s4.7 1.5 5 4.1M12.6 4.4a2.7 2.7 0 0 1 0 5M14.6 12.4c1.5.6 2.4 1.8 2.6 3.6',
  user: 'M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4.5 16.5c.4-2.9 2.6-4.5 5.5-4.5s5.1 1.6 5.5 4.5',
  warning: 'M10 4 3.5 15.5h13zM10 8.5v3.2M10 13.5h.01',
} as const

/** The name of an icon. */
export type IconName = keyof typeof PATHS

/** A line drawing in the colour of its text. Words next to it say what it means. */
export function Icon({ name, small = false }: { name: IconName; small?: boolean }) {
  return (
    <svg className={small ? 'i s' : 'i'} viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name]} strokeWidth={name === 'more' ? 2.6 : undefined} />
    </svg>
  )
}

/** The sign of tollgate with the name of the service. */
export function Brand() {
  const name = useServiceName()
  return (
    <>
      <svg viewBox="0 0 22 22" fill="none" aria-hidden="true">
        <rect x="3" y="9" width="5" height="10" rx="1.5" fill="currentColor" />
        <rect x="14" y="9" width="5" height="10" rx="1.5" fill="currentColor" opacity=".45" />
        <path d="M4 6.5 18.5 3" stroke="currentColor" strokeWidth="2.4" strokeLinecap="round" />
      </svg>
      {name}
    </>
  )
}
