import { createHash } from 'node:crypto'
import type { DocumentedOperation, DocumentSection } from './document.ts'
import { breakablePath, escapeHtml } from './html.ts'
import type { NamedSchemas } from './json-schema.ts'
import { methodBadge, operationArticle } from './operation-article.ts'
import { PAGE_STYLE } from './page-style.ts'
import { problemSection } from './problem-section.ts'

export interface ReferencePageInput {
  readonly version: string
  readonly sections: readonly DocumentSection[]
  readonly named: NamedSchemas
}

/** What a browser may do with the reference: show it in its own style, and nothing else. */
export const REFERENCE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(PAGE_STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The reference as one page of HTML: no script, nothing loaded from anywhere. */
export function referencePage({ version, sections, named }: ReferencePageInput): string {
  const contents = sections
    .map(
      ({ title, operations }) =>
        `<h2><a href="#${sectionId(title)}">${escapeHtml(title)}</a></h2>${operationLinks(operations)}`,
    )
    .join('')
  const bodies = sections
    .map(({ title, operations }) => {
      const articles = operations.map((each) => operationArticle(each, named)).join('')
      return `<section><h2 id="${sectionId(title)}">${escapeHtml(title)}</h2><div class="index">${operationLinks(operations)}</div>${articles}</section>`
    })
    .join('')
  return `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tollgate API</title><style>${PAGE_STYLE}</style></head><body>
<a class="skip" href="#main">Skip to the reference</a>
<nav aria-label="Operations"><p class="brand"><a href="#main">tollgate</a> <small>${escapeHtml(version)}</small></p>
<h2><a href="#start">Before you start</a></h2>${contents}<h2><a href="#errors">Errors</a></h2>
<p><a href="/openapi.json">openapi.json</a></p></nav>
<main id="main"><h1>tollgate API</h1>${INTRODUCTION}${bodies}
<section><h2 id="errors">Errors</h2>${ABOUT_ERRORS}${problemSection()}</section></main>
</body></html>`
}

function operationLinks(operations: readonly DocumentedOperation[]): string {
  const entries = operations.map(
    (each) =>
      `<li><a href="#${escapeHtml(each.name)}">${methodBadge(each)}<span>${breakablePath(each.path)}</span></a></li>`,
  )
  return `<ul>${entries.join('')}</ul>`
}

function sectionId(title: string): string {
  return title.toLowerCase().replace(/\W+/g, '-')
}

const INTRODUCTION = `<section><h2 id="start">Before you start</h2>
<p>The examples are for a shell in which these are set; names in capitals in their paths are yours to set too.</p>
<pre tabindex="0" aria-label="Variables of the examples"><code># where this page came from
export GATEWAY=http://127.0.0.1:8787
# what an account's clients send
export API_KEY=sk-…
# what whoever runs the gateway sends
export ADMIN_API_TOKEN=…</code></pre>
<dl>
<dt>Keys</dt><dd><code>Authorization: Bearer</code> or <code>x-api-key</code>. Keys are for servers: never put one in a page or an app.</dd>
<dt>Models</dt><dd><code>GET /v1/models</code> has the ids. The examples name the simulator's.</dd>
<dt>Money</dt><dd>Whole micro-dollars, 1,000,000 to the dollar.</dd>
<dt>Times</dt><dd>RFC 3339, in UTC.</dd>
<dt>Lists</dt><dd>Newest first. <code>limit</code> says how many; send <code>next_cursor</code> back as <code>cursor</code> while <code>has_more</code> is true.</dd>
<dt>Help</dt><dd>Quote the <code>x-request-id</code> of an answer when you ask about it.</dd>
</dl></section>`

const ABOUT_ERRORS = `<p>Match on the code, never on the message. Wait for <code>retry-after</code> before another try where it is there, else longer each time. The messages format has no codes: it carries the type of the status.</p>
<pre tabindex="0" aria-label="An error"><code>{"error":{"message":"…","type":"insufficient_credit","code":"insufficient_credit","param":null}}
{"type":"error","error":{"type":"billing_error","message":"…"},"request_id":"req_…"}   # messages</code></pre>`
