import { Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/client.ts'
import { AccountBands } from './account-bands.tsx'
import { PhoneTop, SideBar, TabBar } from './bars.tsx'
import { preloadScreens } from './lazy-screen.tsx'
import { Palette } from './palette.tsx'
import { AccountNotFound } from './screen-states.tsx'
import { useNavigation, useSectionKeys } from './section-links.tsx'
import { SessionBand } from './session-band.tsx'
import { ShortcutHelp } from './shortcut-help.tsx'
import { Toasts } from './toasts.tsx'
import { type Place, useMe, useNameOf, usePlace } from './use-account.ts'

/** Frames each page behind the sign-in: side bar, or bars above and below on a phone. */
export function Shell() {
  const me = useMe()
  const place = usePlace()
  const navigation = useNavigation(place.kind, place.kind === 'account' ? place.accountId : null)
  const [opened, setOpened] = useState<'help' | 'palette' | null>(null)
  const help = () => setOpened('help')
  const search = () => setOpened('palette')
  const close = () => setOpened(null)
  useSectionKeys(navigation, help)
  usePaletteKey(search)
  useEffect(preloadScreens, [])
  return (
    <>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <div className="frame">
        <SideBar navigation={navigation} onHelp={help} onSearch={search} />
        <PhoneTop navigation={navigation} onSearch={search} />
        <div className="min-w-0">
          {me.mode === 'simulator' && (
            <aside className="play" aria-label="Mode">
              Simulator: no real models, play money.
            </aside>
          )}
          <Main place={place} />
        </div>
        <TabBar navigation={navigation} onHelp={help} />
      </div>
      <Toasts />
      {opened === 'help' && <ShortcutHelp sections={navigation.sections} onClose={close} />}
      {opened === 'palette' && <Palette navigation={navigation} onClose={close} />}
    </>
  )
}

function Main({ place }: { place: Place }) {
  const ref = useRef<HTMLElement>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const shown = useRef(path)
  useEffect(() => {
    if (shown.current === path) return
    shown.current = path
    ref.current?.focus({ preventScroll: true })
  }, [path])
  return (
    <main id="main" ref={ref} tabIndex={-1}>
      <SessionBand />
      {place.kind === 'account' ? <OfAccount accountId={place.accountId} /> : <Outlet />}
    </main>
  )
}

/** The page of an account, below the bands that concern all of its pages. */
function OfAccount({ accountId }: { accountId: string }) {
  const { error } = useNameOf(accountId)
  if (error instanceof ApiError && error.httpStatus === 404) return <AccountNotFound />
  return (
    <>
      <AccountBands accountId={accountId} />
      <Outlet />
    </>
  )
}

function usePaletteKey(onOpen: () => void): void {
  const current = useRef(onOpen)
  useEffect(() => {
    current.current = onOpen
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isMod = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
      if (!isMod || event.key.toLowerCase() !== 'k') return
      if (document.querySelector('dialog[open]') !== null) return
      event.preventDefault()
      current.current()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}
