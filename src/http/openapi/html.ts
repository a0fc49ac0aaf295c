/** Text as it stands in HTML, in an element or an attribute. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Text whose backticks mark code, as HTML. */
export function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}

/** A path as HTML that may break after its slashes. */
export function breakablePath(path: string): string {
  return escapeHtml(path).replaceAll('/', '/<wbr>')
}
