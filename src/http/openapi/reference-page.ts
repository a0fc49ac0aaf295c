import { PROBLEMS } from '../../vocabulary/problem.ts'
import type { DocumentedOperation, DocumentSection } from './document.ts'
import type { JsonSchema, NamedSchemas } from './json-schema.ts'

export interface ReferencePageInput {
  readonly version: string
  readonly sections: readonly DocumentSection[]
  readonly named: NamedSchemas
}

/** The reference as one page of HTML: no script, nothing loaded from anywhere. */
export function referencePage({ version, sections, named }: ReferencePageInput): string {
  const contents = sections
    .map(
      ({ title, operations }) =>
        `<h2>${escapeHtml(title)}</h2><ul>${operations.map(entry).join('')}</ul>`,
    )
    .join('')
  const bodies = sections
    .map(
      ({ title, operations }) =>
        `<section><h2>${escapeHtml(title)}</h2>${operations.map((each) => article(each, named)).join('')}</section>`,
    )
    .join('')
  return `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tollgate API</title><style>${STYLE}</style></head><body>
<nav aria-label="Operations"><p><strong>tollgate</strong> ${escapeHtml(version)}</p><p><a href="/openapi.json">openapi.json</a></p>${contents}</nav>
<main><h1>tollgate API</h1><p>Money is whole micro-dollars, 1,000,000 to the dollar. Times are RFC 3339. Lists are asked for with <code>limit</code> and <code>cursor</code>, newest first.</p>${bodies}</main>
</body></html>`
}

function entry({ name, method, path }: DocumentedOperation): string {
  return `<li><a href="#${escapeHtml(name)}"><span class="method">${method.toUpperCase()}</span> ${escapeHtml(path)}</a></li>`
}

function article(told: DocumentedOperation, named: NamedSchemas): string {
  const heading = `<h3><span class="method">${told.method.toUpperCase()}</span> <code>${escapeHtml(told.path)}</code></h3>`
  const parameters = told.parameters.map((each) => ({
    name: each.name,
    type: `${typeOf(each.schema)}, in the ${each.in}`,
    required: each.required,
    description: each.description,
  }))
  const answers = told.answers.map(({ httpStatus, description, content }) => {
    const schema = content['application/json']
    const fields = schema === undefined ? '' : schemaTables(schema, named)
    return `<h4>${httpStatus}</h4><p>${prose(description)}</p>${fields}`
  })
  return [
    `<article id="${escapeHtml(told.name)}">${heading}`,
    `<p>${prose(told.summary)} ${ACCESS_WORDS[told.access]}</p>`,
    parameters.length === 0 ? '' : `<h4>Parameters</h4>${fieldTable(parameters)}`,
    told.body === null ? '' : `<h4>Body</h4>${schemaTables(told.body, named)}`,
    ...answers,
    problemTable(told),
    '</article>',
  ].join('')
}

const ACCESS_WORDS = {
  key: 'Needs an API key.',
  admin: 'Needs the admin token.',
  none: '',
} as const

function problemTable({ problems }: DocumentedOperation): string {
  if (problems.length === 0) return ''
  const rows = problems
    .map((code) => {
      const { httpStatus, message } = PROBLEMS[code]
      return `<tr><td>${httpStatus}</td><td><code>${code}</code></td><td>${prose(message)}</td></tr>`
    })
    .join('')
  return `<details><summary>Errors</summary><table><tbody>${rows}</tbody></table></details>`
}

interface Field {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

/** A table of each object that a schema may be. */
function schemaTables(schema: JsonSchema, named: NamedSchemas): string {
  const resolved = resolve(schema, named)
  const choices = resolved['oneOf'] ?? resolved['anyOf']
  if (Array.isArray(choices)) {
    return choices.map((choice) => schemaTables(record(choice), named)).join('<p>or</p>')
  }
  const fields = fieldsOf(resolved, { named, prefix: '' })
  return fields.length === 0 ? '' : fieldTable(fields)
}

const DEPTH_MAX = 5

function fieldsOf(
  schema: JsonSchema,
  { named, prefix }: { readonly named: NamedSchemas; readonly prefix: string },
): Field[] {
  if (prefix.split('.').length > DEPTH_MAX) return []
  const required = schema['required']
  return Object.entries(record(schema['properties'])).flatMap(([name, property]) => {
    const own = record(property)
    const resolved = resolve(own, named)
    const inner =
      resolved['type'] === 'array' ? resolve(record(resolved['items']), named) : resolved
    const place = `${prefix}${name}`
    const suffix = resolved['type'] === 'array' ? '[].' : '.'
    return [
      {
        name: place,
        type: typeOf(resolved),
        required: Array.isArray(required) && required.includes(name),
        description: String(own['description'] ?? ''),
      },
      ...fieldsOf(inner, { named, prefix: `${place}${suffix}` }),
    ]
  })
}

function fieldTable(fields: readonly Field[]): string {
  const rows = fields.map(
    ({ name, type, required, description }) =>
      `<tr><td><code>${escapeHtml(name)}</code>${required ? '' : ' <small>optional</small>'}</td><td>${escapeHtml(type)}</td><td>${prose(description)}</td></tr>`,
  )
  return `<table><tbody>${rows.join('')}</tbody></table>`
}

function typeOf(schema: JsonSchema): string {
  const { type, enum: members, const: only, anyOf, format } = schema
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(members)) return members.map((member) => JSON.stringify(member)).join(' | ')
  if (Array.isArray(anyOf)) return anyOf.map((choice) => typeOf(record(choice))).join(' | ')
  if (Array.isArray(type)) return type.join(' | ')
  if (typeof schema['$ref'] === 'string') return 'object'
  return format === 'date-time' ? 'time' : String(type ?? 'any')
}

function resolve(schema: JsonSchema, named: NamedSchemas): JsonSchema {
  const { $ref: ref } = schema
  return typeof ref === 'string' ? (named.get(ref.split('/').at(-1) ?? '') ?? schema) : schema
}

function record(value: unknown): JsonSchema {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Text whose backticks mark code. */
function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

const STYLE = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0;display:grid;grid-template-columns:20rem minmax(0,1fr)}
nav{position:sticky;top:0;height:100vh;overflow:auto;box-sizing:border-box;padding:1rem;border-right:1px solid #8884;font-size:.85rem}
nav ul{list-style:none;margin:0;padding:0}nav h2{font-size:.9rem;margin:1rem 0 .25rem}
nav a{text-decoration:none;color:inherit;overflow-wrap:anywhere}nav a:hover{text-decoration:underline}
main{padding:1rem 2rem;max-width:60rem}article{border-top:1px solid #8884;padding:.5rem 0 1rem}
.method{font:600 .75rem ui-monospace,monospace}code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;font-size:.9rem}td{border-top:1px solid #8882;padding:.25rem .5rem .25rem 0;vertical-align:top}
small{opacity:.7}summary{cursor:pointer}
@media(max-width:50rem){body{display:block}nav{position:static;height:auto;border:0}}
`
