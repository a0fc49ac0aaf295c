import { renderReference } from './render.js'

document.getElementById('gateway').textContent = location.origin
try {
  const answer = await fetch('/openapi.json')
  if (!answer.ok) throw new Error(`status ${answer.status}`)
  for (const [elementId, html] of Object.entries(renderReference(await answer.json()))) {
    document.getElementById(elementId).innerHTML = html
  }
  // The browser looked for the end of a link to an operation before the operation was there.
  if (location.hash !== '') location.replace(location.hash)
} catch (error) {
  const place = document.getElementById('operations')
  place.textContent = `openapi.json could not be loaded (${error.message}). Reload the page to try again.`
}
