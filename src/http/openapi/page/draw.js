import { renderReference } from './render.js'

const TITLE = document.title

document.getElementById('gateway').textContent = location.origin
try {
  const answer = await fetch('/openapi.json')
  if (!answer.ok) throw new Error(`status ${answer.status}`)
  for (const [elementId, html] of Object.entries(renderReference(await answer.json()))) {
    document.getElementById(elementId).innerHTML = html
  }
  // The browser looked for the place of this address before it was drawn.
  showPlace()
} catch (error) {
  const place = document.getElementById('operations')
  place.textContent = `openapi.json could not be loaded (${error.message}). Reload the page to try again.`
}

const SAID_MS = 1_600

addEventListener('click', async ({ target }) => {
  const button = target.closest?.('.sample button')
  if (button?.textContent !== 'Copy') return
  const label = button.getAttribute('aria-label')
  const say = (text, name) => {
    button.textContent = text
    button.setAttribute('aria-label', name)
  }
  const text = button.previousElementSibling.textContent
  // Without TLS and away from loopback, browsers offer no clipboard.
  const writing = navigator.clipboard?.writeText(text) ?? Promise.reject()
  const said = await writing.then(
    () => 'Copied',
    () => 'Press Ctrl+C',
  )
  say(said, said)
  setTimeout(() => say('Copy', label), SAID_MS)
})

// All addresses of the reference are this one page, so that a link between them loads nothing.
addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href^="/docs"]')
  const isPlain = !(
    event.button ||
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey ||
    event.altKey
  )
  if (!link || !isPlain) return
  event.preventDefault()
  if (link.href !== location.href) history.pushState(null, '', link.href)
  showPlace()
})
addEventListener('popstate', showPlace)

/** Scrolls to the place of the address, and marks it: `/docs/{operation}`, or `#{element}`. */
function showPlace() {
  const operationId = location.pathname.slice('/docs/'.length)
  const place = document.getElementById(location.hash.slice(1) || operationId)
  document.querySelector('.here')?.classList.remove('here')
  document.querySelector('nav [aria-current]')?.removeAttribute('aria-current')
  place?.classList.add('here')
  const link = document.querySelector(`nav a[href="/docs/${place?.id}"]`)
  link?.setAttribute('aria-current', 'true')
  link?.scrollIntoView({ block: 'nearest' })
  const names = [...(link?.children ?? [])].map(({ textContent }) => textContent)
  document.title = link ? `${names.join(' ')} · ${TITLE}` : TITLE
  if (!place) scrollTo(0, 0)
  else {
    place.scrollIntoView()
    place.tabIndex = -1
    place.focus({ preventScroll: true })
  }
}
