// Draws the reference from an OpenAPI document, as HTML. It runs in the browser, which has the document
// from the address that the page was asked at; nothing is loaded from anywhere else.

/** The HTML of each element of the page, by the element's ID. */
export function renderReference(openapi) {
  const sections = sectionsOf(openapi)
  return {
    version: escapeHtml(openapi.info.version),
    contents: sections
      .map(
        ({ title, operations }) =>
          `<h2><a href="/docs#${sectionId(title)}">${escapeHtml(title)}</a></h2>${links(operations)}`,
      )
      .join(''),
    operations: sections
      .map(({ title, operations }) => {
        const articles = operations.map((operation) => article(operation, openapi)).join('')
        return `<section><h2 id="${sectionId(title)}">${escapeHtml(title)}</h2><div class="index">${links(operations)}</div>${articles}</section>`
      })
      .join(''),
    problems: problemTables(openapi['x-problems']),
  }
}

/** Operations by tag, in the document's order. */
function sectionsOf({ tags, paths }) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )
  return tags.map(({ name }) => ({
    title: name,
    operations: operations.filter((operation) => operation.tags.includes(name)),
  }))
}

const sectionId = (title) => title.toLowerCase().replace(/\W+/g, '-')

function links(operations) {
  const entries = operations.map(
    (operation) =>
      `<li><a href="/docs/${operation.operationId}">${badge(operation)}<span>${breakable(operation.path)}</span></a></li>`,
  )
  return `<ul>${entries.join('')}</ul>`
}

const badge = ({ method }) => `<span class="method ${method}">${method.toUpperCase()}</span>`

function article(operation, openapi) {
  const { operationId, path, summary } = operation
  const heading = `<h3>${badge(operation)} <code>${breakable(path)}</code> <a class="anchor" href="/docs/${operationId}" aria-label="Link to ${operationId}">#</a></h3>`
  if (operation.deprecated)
    return `<article id="${operationId}">${heading}<p>${prose(summary)}</p></article>`
  const body = operation.requestBody?.content['application/json'].schema
  const responses = Object.entries(operation.responses)
  return [
    `<article id="${operationId}">${heading}`,
    `<p>${prose(summary)} <span class="access">${ACCESS[accessOf(operation)].words}</span></p>`,
    `<div class="sample"><pre><code>${escapeHtml(curlExample(operation))}</code></pre><button type="button" aria-label="Copy the example of ${operationId}">Copy</button></div>`,
    parameterTables(operation.parameters ?? []),
    body === undefined
      ? ''
      : `<h4>Body</h4>${schemaTables(body, { openapi, marks: 'required' })}${body.description === undefined ? '' : `<p>${prose(body.description)}</p>`}`,
    ...responses
      .filter(([, { 'x-codes': codes }]) => codes === undefined)
      .map(([httpStatus, answer]) => answerDetails(httpStatus, answer, openapi)),
    problemLinks(responses),
    '</article>',
  ].join('')
}

const ACCESS = {
  key: { words: 'API key', header: '-H "authorization: Bearer $TOLLGATE_API_KEY"' },
  adminToken: { words: 'admin token', header: '-H "authorization: Bearer $ADMIN_API_TOKEN"' },
  none: { words: 'no key needed', header: null },
}

const accessOf = ({ security }) => Object.keys(security[0] ?? { none: [] })[0]

/**
 * A command line that does an operation, for a shell in which `GATEWAY`, the key or token, and the
 * parameters of the path are set.
 */
function curlExample(operation) {
  const { path, method, parameters = [], requestBody } = operation
  const examples = Object.fromEntries(parameters.map(({ name, example }) => [name, example]))
  const place = path.replace(/\{(\w+)\}/g, (_, name) => examples[name] ?? `$${name.toUpperCase()}`)
  const example = requestBody?.content['application/json'].example
  const verb = example === undefined ? 'get' : 'post'
  const asked = parameters.filter((each) => each.in === 'query' && each.required)
  const query = asked.map(({ name, example: value }) => `${name}=${value}`).join('&')
  const url = `$GATEWAY${place}${query === '' ? '' : `?${query}`}`
  const lines = [`curl${method === verb ? '' : ` -X ${method.toUpperCase()}`} "${url}"`]
  const { header } = ACCESS[accessOf(operation)]
  if (header !== null) lines.push(header)
  if (example !== undefined) lines.push(`-d '${JSON.stringify(example)}'`)
  return lines.join(' \\\n  ')
}

const PLACES = { path: 'Path', query: 'Query', header: 'Headers' }

function parameterTables(parameters) {
  return Object.entries(PLACES)
    .map(([place, title]) => {
      const fields = parameters
        .filter((parameter) => parameter.in === place)
        .map(({ name, required, description = '', schema }) => ({
          name,
          type: typeOf(schema),
          isRequired: required,
          description: withBounds(description, schema),
        }))
      return fields.length === 0 ? '' : `<h4>${title}</h4>${fieldTable(fields, 'required')}`
    })
    .join('')
}

function answerDetails(httpStatus, { description, headers, content }, openapi) {
  const summary = `<summary><span class="status">${httpStatus}</span> ${prose(description)}</summary>`
  const sent = Object.entries(headers)
    .filter(([name]) => name !== 'x-request-id')
    .map(([name, header]) => `<p><code>${name}</code>: ${prose(header.description)}</p>`)
  const streamed =
    'text/event-stream' in content
      ? '<p>With <code>"stream": true</code>: server-sent events, relayed as they arrive.</p>'
      : ''
  const schema = content['application/json']?.schema
  const tables = schema === undefined ? '' : schemaTables(schema, { openapi, marks: 'optional' })
  return `<details>${summary}${sent.join('')}${streamed}${tables}</details>`
}

function problemLinks(responses) {
  const refusals = responses.filter(([, response]) => response['x-codes'] !== undefined)
  if (refusals.length === 0) return ''
  const count = refusals.reduce((sum, [, response]) => sum + response['x-codes'].length, 0)
  const rows = refusals.map(([httpStatus, response]) => {
    const codes = response['x-codes'].map(
      (code) => `<a href="/docs#error-${code}"><code>${code}</code></a>`,
    )
    return `<tr><th scope="row">${httpStatus}</th><td>${codes.join(' ')}</td></tr>`
  })
  return `<details><summary>Errors <small>${count}</small></summary><table class="codes"><tbody>${rows.join('')}</tbody></table></details>`
}

/** Every error: what it means, what to do, and whether to try again. */
function problemTables(problems) {
  const byStatus = Map.groupBy(Object.entries(problems), ([, problem]) => problem.status)
  return [...byStatus]
    .sort(([one], [other]) => one - other)
    .map(([httpStatus, entries]) => {
      const rows = entries.map(([code, { retryable, meaning, remedy }]) => {
        const again = retryable ? '<small>try again later</small>' : ''
        return `<tr id="error-${code}"><th scope="row"><code>${code}</code>${again}</th><td>${prose(meaning)} <strong>${prose(remedy)}</strong></td></tr>`
      })
      return `<h3 id="status-${httpStatus}">${httpStatus}</h3><table class="problems"><tbody>${rows.join('')}</tbody></table>`
    })
    .join('')
}

/** A table of each object that a schema may be; empty where the schema has no fields. */
function schemaTables(schema, { openapi, marks }) {
  const resolved = resolve(schema, openapi)
  const choices = resolved.oneOf ?? resolved.anyOf
  if (choices !== undefined) {
    return choices
      .map((choice) => schemaTables(choice, { openapi, marks }))
      .join('<p class="or">or</p>')
  }
  const fields = fieldsOf(resolved, { openapi, prefix: '' })
  return fields.length === 0 ? '' : fieldTable(fields, marks)
}

// Deeper than any schema here; a schema that refers to itself ends there.
const DEPTH_MAX = 5

function fieldsOf({ properties = {}, required = [] }, { openapi, prefix }) {
  if (prefix.split('.').length > DEPTH_MAX) return []
  return Object.entries(properties).flatMap(([name, property]) => {
    const resolved = resolve(property, openapi)
    const present = unlessNull(resolved, openapi)
    const isList = present.type === 'array'
    const inner = isList ? resolve(present.items ?? {}, openapi) : present
    const field = {
      name: `${prefix}${name}`,
      type: typeOf(resolved),
      isRequired: required.includes(name),
      description: withBounds(property.description ?? '', resolved),
    }
    return [
      field,
      ...fieldsOf(inner, { openapi, prefix: `${prefix}${name}${isList ? '[].' : '.'}` }),
    ]
  })
}

/** `marks`: which fields get a mark, the required or the optional ones. */
function fieldTable(fields, marks) {
  const rows = fields.map(({ name, type, isRequired, description }) => {
    const own = name.split('.').at(-1)
    const parents = name.slice(0, name.length - own.length)
    const shown = `<span class="parents">${escapeHtml(parents)}</span>${escapeHtml(own)}`
    const mark =
      isRequired === (marks === 'required')
        ? ` <small${isRequired ? ' class="required"' : ''}>${marks}</small>`
        : ''
    return `<tr><th scope="row"><code>${shown}</code>${mark}</th><td class="type">${escapeHtml(type)}</td><td>${prose(description)}</td></tr>`
  })
  return `<table class="fields"><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Description</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

/** The type of a schema, in a few words. */
function typeOf(schema) {
  const { type, enum: members, const: only, anyOf, format, items } = schema
  if (only !== undefined) return JSON.stringify(only)
  if (members !== undefined) return members.map((member) => JSON.stringify(member)).join(' | ')
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' | ')
  if (Array.isArray(type)) return type.join(' | ')
  if (schema.$ref !== undefined) return 'object'
  if (type === 'array' && items?.type !== undefined) return `array of ${typeOf(items)}s`
  return format === 'date-time' ? 'time' : (type ?? 'any')
}

/** A description with the bounds of its value, and its default unless it says that. A bound of the format itself is none. */
function withBounds(description, { minimum, maximum, default: fallback }) {
  const [least, most] = [minimum, maximum].map((bound) =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : null,
  )
  const sentences = description === '' ? [] : [description]
  if (least !== null && most !== null) sentences.push(`From ${least} to ${most}.`)
  else if (least !== null) sentences.push(`At least ${least}.`)
  else if (most !== null) sentences.push(`At most ${most}.`)
  if (fallback !== undefined && !/\bDefault\b/.test(description)) {
    sentences.push(`Default: \`${JSON.stringify(fallback)}\`.`)
  }
  return sentences.join(' ')
}

function resolve(schema, { components }) {
  return schema.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1)]
}

/** The schema of a value that is not null; the value itself if it can have several schemas. */
function unlessNull(schema, openapi) {
  const [only, ...others] = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  return only === undefined || others.length > 0 ? schema : resolve(only, openapi)
}

/** Text as HTML, in an element or an attribute. */
function escapeHtml(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Text whose backticks mark code, as HTML. */
const prose = (text) => escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>')

/** A path as HTML that may break after its slashes. */
const breakable = (path) => escapeHtml(path).replaceAll('/', '/<wbr>')
