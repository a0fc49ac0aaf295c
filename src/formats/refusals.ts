import { isJsonObject, type JsonObject, walkJson } from '../json/walk.ts'
import type { Call } from '../vocabulary/call.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { field, readObject, readObjects } from './fields.ts'
import type { WireFormat } from './format.ts'
import { isSearchType, type ToolRules } from './search-tools.ts'

/** The refusals that hold on every endpoint, whatever the format. */

const ONE_MODEL = 'a request runs on exactly the model that it names.'

/** Fields that no endpoint supports, and why. */
const REFUSED_FIELDS = [
  ['models', ONE_MODEL],
  ['fallbacks', ONE_MODEL],
  ['route', ONE_MODEL],
  ['provider', ONE_MODEL],
  ['preset', ONE_MODEL],
  ['mcp_servers', 'the tools of other servers have no price here.'],
  ['debug', 'what the provider is sent is not shown.'],
] as const

/**
 * Throws `unsupported_parameter` for fields that would run another model than the one named, run tools
 * without a price, show what goes upstream, or search through a social platform.
 */
export function refuseFields(body: JsonObject): void {
  refuseSocialField(body, () => '')
  for (const [name, why] of REFUSED_FIELDS) {
    if (field(body, name) === undefined) continue
    throw unsupported(name, `\`${name}\` is not supported: ${why}`)
  }
}

/**
 * Reads `plugins`, of which only the free ones pass, and says which file parser is set. Throws
 * `unsupported_parameter` naming the entry for any other, and for a parser that is set twice or
 * switched off: which engine would then read a file, perhaps a paid one, can't be told.
 */
export function readPlugins(body: JsonObject, publicNames: PublicNames): Pick<Call, 'fileParser'> {
  let fileParser: Call['fileParser'] = 'none'
  for (const [index, plugin] of readObjects(body, 'plugins').entries()) {
    const param = `plugins[${index}]`
    refuseSocialSearch(plugin, param)
    switch (plugin['id']) {
      case 'response-healing':
        break
      case 'file-parser':
        if (fileParser !== 'none') {
          throw unsupported(param, 'The file-parser plugin may be present only once.')
        }
        fileParser = readFileParser(plugin, { param, publicNames })
        break
      default:
        throw unsupported(
          param,
          'The supported plugins are `response-healing` and the free engines of `file-parser`.',
        )
    }
  }
  return { fileParser }
}

function readFileParser(
  plugin: JsonObject,
  { param, publicNames }: { readonly param: string; readonly publicNames: PublicNames },
): 'free' | 'native' {
  if ((field(plugin, 'enabled') ?? true) !== true) {
    throw unsupported(
      `${param}.enabled`,
      'The file-parser plugin cannot be switched off: leave it out.',
    )
  }
  const engine = fileEngineOf(plugin)
  if (engine === publicNames.fileEngine || engine === publicNames.upstream.fileEngine) return 'free'
  if (engine === 'native') return 'native'
  throw unsupported(
    `${param}.pdf.engine`,
    `The file-parser plugin is supported with \`pdf.engine\` set to \`${publicNames.fileEngine}\` or \`native\`.`,
  )
}

/** The engine that a file-parser plugin names; undefined where it names none. */
export function fileEngineOf(plugin: JsonObject): unknown {
  const pdf = plugin['pdf']
  return isJsonObject(pdf) ? pdf['engine'] : undefined
}

/** What a client is told of a tool that the provider would run and that is no search. */
export const UNSUPPORTED_TOOL = 'The supported tool types are `function`, `custom` and web search.'

/** What an array of tools has in it. */
interface ToolList {
  readonly clientTools: number
  readonly searchTools: readonly JsonObject[]
}

/** Reads tools. Throws `unsupported_parameter` naming the first one of a type that is not supported. */
export function readTools(
  tools: readonly JsonObject[],
  { rules, param }: { readonly rules: ToolRules; readonly param: string },
): ToolList {
  let clientTools = 0
  const searchTools: JsonObject[] = []
  for (const [index, tool] of tools.entries()) {
    const type = tool['type'] ?? undefined
    const place = `${param}[${index}]`
    refuseSocialField(tool, () => place)
    if (
      type === 'function' ||
      type === 'custom' ||
      (type === undefined && rules.untypedIsClientTool)
    ) {
      clientTools += 1
    } else if (typeof type === 'string' && isSearchType(type, rules)) {
      refuseSocialSearch(tool, place)
      searchTools.push(tool)
    } else {
      throw unsupported(`${place}.type`, UNSUPPORTED_TOOL)
    }
  }
  return { clientTools, searchTools }
}

/** Throws `unsupported_parameter` for a search through a social platform, in this object or anywhere below. */
export function refuseSocialSearch(owner: JsonObject, place: string): void {
  walkJson(owner, (node, path) => {
    refuseSocialField(node, () => [place, path()].filter((step) => step !== '').join('.'))
  })
}

function refuseSocialField(node: JsonObject, place: () => string): void {
  for (const name of ['x_search', 'x_search_filter'] as const) {
    if (field(node, name) === undefined) continue
    const owner = place()
    throw unsupported(
      owner === '' ? name : `${owner}.${name}`,
      'Search through a social platform is not supported.',
    )
  }
}

/** What a model is asked whether it takes a call by. */
interface OfferCheck {
  readonly format: WireFormat
  /** Every format, of which a refusal names those that fit. */
  readonly formats: readonly WireFormat[]
  readonly offer: Offer
  readonly publicNames: PublicNames
}

/**
 * Throws `unsupported_model` for a model that bills per search or whose output another endpoint fits, and
 * `unsupported_parameter` for a file that nothing would read.
 */
export function checkOffer(call: Call, { format, formats, offer, publicNames }: OfferCheck): void {
  if (offer.billsPerSearch) {
    throw new Problem('unsupported_model', {
      param: 'model',
      message: 'This model bills per search, which is not supported. Use another model.',
    })
  }
  if (!format.fitsOutputs(offer.outputModalities)) throw unfitModel(offer, formats)
  const needsParser = call.media.files > 0 && !offer.inputModalities.has('file')
  if (!needsParser || call.fileParser === 'free' || format.addsFileParser) return
  throw unsupported(
    call.media.firstFilePath ?? 'file',
    `This model does not read files. Set \`plugins: [{"id": "file-parser", "pdf": {"engine": "${publicNames.fileEngine}"}}]\` to have files parsed, or use a model with \`file\` among its input modalities.`,
  )
}

function unfitModel({ outputModalities }: Offer, formats: readonly WireFormat[]): Problem {
  const fit = formats.filter((format) => format.fitsOutputs(outputModalities))
  const message =
    fit.length === 0
      ? 'This model has an output that no endpoint supports.'
      : `This model is not for this endpoint. Use ${fit.map(({ path }) => `POST ${path}`).join(' or ')}.`
  return new Problem('unsupported_model', { param: 'model', message })
}

/**
 * The refusal of a field that no endpoint, or not this one, supports.
 * By position: which field, and what a client is told about it.
 */
export function unsupported(param: string, message: string): Problem {
  return new Problem('unsupported_parameter', { param, message })
}

/** `web_search_options`, which let the provider search by itself; undefined where they are not set. */
export function readSearchOptions(body: JsonObject): JsonObject | undefined {
  const searchOptions = readObject(body, 'web_search_options')
  if (searchOptions !== undefined) refuseSocialSearch(searchOptions, 'web_search_options')
  return searchOptions
}
