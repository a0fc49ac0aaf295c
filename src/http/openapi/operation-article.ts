import { PROBLEMS, type ProblemCode } from '../../vocabulary/problem.ts'
import { curlExample } from './curl-example.ts'
import type { DocumentedAnswer, DocumentedOperation } from './document.ts'
import { fieldTable, schemaTables, typeOf } from './field-table.ts'
import { FIELD_WORDS } from './field-words.ts'
import { breakablePath, escapeHtml, prose } from './html.ts'
import type { NamedSchemas } from './json-schema.ts'

const ACCESS_WORDS = {
  key: 'API key',
  admin: 'admin token',
  none: 'no key needed',
} as const

/** One operation as HTML: what it does, a command to try, what it takes, answers and refuses with. */
export function operationArticle(told: DocumentedOperation, named: NamedSchemas): string {
  const { name, path, summary, access, isRetired } = told
  const heading = `<h3>${methodBadge(told)} <code>${breakablePath(path)}</code> <a class="anchor" href="#${escapeHtml(name)}" aria-label="Link to ${escapeHtml(name)}">#</a></h3>`
  if (isRetired) {
    return `<article id="${escapeHtml(name)}">${heading}<p>${prose(summary)}</p></article>`
  }
  return [
    `<article id="${escapeHtml(name)}">${heading}`,
    `<p>${prose(summary)} <span class="access">${ACCESS_WORDS[access]}</span></p>`,
    `<pre tabindex="0" aria-label="Example"><code>${escapeHtml(curlExample(told))}</code></pre>`,
    parameterTables(told),
    bodyTables(told, named),
    ...told.answers.map((answer) => answerDetails(answer, named)),
    problemList(told.problems),
    '</article>',
  ].join('')
}

/** The method of an operation, marked by what it does. */
export function methodBadge({ method }: Pick<DocumentedOperation, 'method'>): string {
  return `<span class="method ${escapeHtml(method)}">${escapeHtml(method.toUpperCase())}</span>`
}

function parameterTables({ parameters }: DocumentedOperation): string {
  return PLACES.map(([place, title]) => {
    const fields = parameters
      .filter((each) => each.in === place)
      .map(({ name, required, description, schema }) => ({
        name,
        type: typeOf(schema),
        isRequired: required,
        description: description === '' ? (FIELD_WORDS.get(name) ?? '') : description,
      }))
    return fields.length === 0 ? '' : `<h4>${title}</h4>${fieldTable(fields, 'what is required')}`
  }).join('')
}

const PLACES = [
  ['path', 'Path'],
  ['query', 'Query'],
  ['header', 'Headers'],
] as const

function bodyTables({ body }: DocumentedOperation, named: NamedSchemas): string {
  if (body === null) return ''
  const { description } = body
  const note = typeof description === 'string' ? `<p>${prose(description)}</p>` : ''
  return `<h4>Body</h4>${schemaTables(body, { named, told: 'what is required' })}${note}`
}

function answerDetails(
  { httpStatus, description, headers, content }: DocumentedAnswer,
  named: NamedSchemas,
): string {
  const summary = `<summary><span class="status">${httpStatus}</span> ${prose(description)}</summary>`
  const sent = Object.entries(headers).map(
    ([name, words]) => `<p><code>${escapeHtml(name)}</code>: ${prose(words)}</p>`,
  )
  const streamed =
    'text/event-stream' in content
      ? '<p>With <code>"stream": true</code>: server-sent events, relayed as they arrive.</p>'
      : ''
  const schema = content['application/json']
  const tables =
    schema === undefined ? '' : schemaTables(schema, { named, told: 'what may be missing' })
  return `<details>${summary}${sent.join('')}${streamed}${tables}</details>`
}

function problemList(problems: readonly ProblemCode[]): string {
  if (problems.length === 0) return ''
  const byStatus = Map.groupBy(problems, (code) => PROBLEMS[code].httpStatus)
  const rows = [...byStatus]
    .sort(([one], [other]) => one - other)
    .map(([httpStatus, codes]) => {
      const links = codes.map((code) => `<a href="#error-${code}"><code>${code}</code></a>`)
      return `<tr><th scope="row">${httpStatus}</th><td>${links.join(' ')}</td></tr>`
    })
  return `<details><summary>Errors <small>${problems.length}</small></summary><table class="codes"><tbody>${rows.join('')}</tbody></table></details>`
}
