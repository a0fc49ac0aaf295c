import { isJsonObject, type JsonObject, walkJson } from '../json/walk.ts'
import type { Call } from '../vocabulary/call.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { field, readObjects, unsupported } from './fields.ts'
import type { WireFormat } from './format.ts'

const ONE_MODEL = 'a request runs on exactly the model that it names.'

/** Fields that no endpoint supports, with the reason. */
const REFUSED_FIELDS = [
  ['models', ONE_MODEL],
  ['fallbacks', ONE_MODEL],
  ['route', ONE_MODEL],
  ['provider', ONE_MODEL],
  ['preset', ONE_MODEL],
  ['mcp_servers', 'the tools of other servers have no price here.'],
  ['debug', 'the request to the provider is not shown.'],
] as const

/**
 * Throws `unsupported_parameter` for fields that would run another model, run tools without a price, show the
 * request to the provider, or search through a social platform.
 */
export function refuseFields(body: JsonObject): void {
  refuseSocialField(body, () => '')
  for (const [name, why] of REFUSED_FIELDS) {
    if (field(body, name) === undefined) continue
    throw unsupported(name, `\`${name}\` is not supported: ${why}`)
  }
}

const ENDPOINTS_BY_FIELD = [
  ['messages', 'POST /v1/chat/completions or POST /v1/messages'],
  ['input', 'POST /v1/responses or POST /v1/embeddings'],
  ['prompt', 'POST /v1/completions or POST /v1/images'],
] as const

/** The end of the refusal of a body without its prompt: the endpoints of a body with the field that it has instead. */
export function otherEndpoint(body: JsonObject): string {
  const found = ENDPOINTS_BY_FIELD.find(([name]) => field(body, name) !== undefined)
  return found === undefined ? '' : ` A body with \`${found[0]}\` is for ${found[1]}.`
}

/**
 * Reads the file parser that `plugins` set. Throws `unsupported_parameter`, with the entry's name, for plugins
 * that are not free, and for a parser that is set twice or switched off: a file might then be read by a paid
 * engine.
 */
export function readPlugins(body: JsonObject, publicNames: PublicNames): Call['fileParser'] {
  let fileParser: Call['fileParser'] = 'none'
  const plugins = field(body, 'plugins')
  // An entry that is no object is not one of the free ones, even if a provider knows it.
  const unknown = Array.isArray(plugins) ? plugins.findIndex((plugin) => !isJsonObject(plugin)) : -1
  if (unknown !== -1) throw unsupportedPlugin(`plugins[${unknown}]`)
  for (const [index, plugin] of readObjects(body, 'plugins').entries()) {
    const param = `plugins[${index}]`
    refuseSocialSearch(plugin, param)
    switch (plugin['id']) {
      case 'response-healing':
        break
      case 'file-parser':
        if (fileParser !== 'none') {
          throw unsupported(
            param,
            `The file-parser plugin can be set only once: leave \`${param}\` out.`,
          )
        }
        fileParser = readFileParser(plugin, { param, publicNames })
        break
      default:
        throw unsupportedPlugin(param)
    }
  }
  return fileParser
}

function unsupportedPlugin(param: string): Problem {
  return unsupported(
    param,
    `\`${param}\` is not supported. The supported plugins are \`response-healing\` and the free engines of \`file-parser\`.`,
  )
}

function readFileParser(
  plugin: JsonObject,
  { param, publicNames }: { readonly param: string; readonly publicNames: PublicNames },
): 'free' | 'native' {
  if ((field(plugin, 'enabled') ?? true) !== true) {
    throw unsupported(
      `${param}.enabled`,
      `The file-parser plugin cannot be switched off: leave \`${param}\` out.`,
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

/** The engine of a file-parser plugin; undefined if it names none. */
export function fileEngineOf(plugin: JsonObject): unknown {
  const pdf = plugin['pdf']
  return isJsonObject(pdf) ? pdf['engine'] : undefined
}

/** Like {@link refuseSocialField}, for this object and everything inside it. */
export function refuseSocialSearch(owner: JsonObject, place: string): void {
  walkJson(owner, (node, path) => {
    refuseSocialField(node, () => [place, path()].filter((step) => step !== '').join('.'))
  })
}

/** Throws `unsupported_parameter` if this object asks for a search through a social platform. */
export function refuseSocialField(node: JsonObject, place: () => string): void {
  for (const name of ['x_search', 'x_search_filter'] as const) {
    if (field(node, name) === undefined) continue
    const owner = place()
    throw unsupported(
      owner === '' ? name : `${owner}.${name}`,
      `Search through a social platform is not supported. Leave \`${name}\` out.`,
    )
  }
}

interface OfferCheck {
  readonly format: WireFormat
  /** Every format; a refusal names those that fit the model. */
  readonly formats: readonly WireFormat[]
  readonly offer: Offer
  /** Whether the upstream parses files for models that do not read them. */
  readonly parsesFiles: boolean
  readonly publicNames: PublicNames
}

/**
 * Throws `unsupported_model` for a model that bills per search or belongs to another endpoint, and
 * `unsupported_parameter` for a file that neither the model nor a parser would read.
 */
export function checkOffer(
  call: Call,
  { format, formats, offer, parsesFiles, publicNames }: OfferCheck,
): void {
  if (offer.billsPerSearch) {
    throw new Problem('unsupported_model', {
      param: 'model',
      message: 'This model bills per search, which is not supported. Use another model.',
    })
  }
  if (!offer.endpoints.includes(format.endpoint)) throw unfitModel(offer, { format, formats })
  const needsParser = call.media.files > 0 && !offer.inputModalities.has('file')
  if (needsParser && !parsesFiles) {
    throw unsupported(
      call.media.firstFilePath ?? 'file',
      'This model does not read files, and no file parser can be put in front of it. Send their text, or use a model with `file` among its input modalities.',
    )
  }
  if (!needsParser || call.fileParser === 'free' || format.addsFileParser) return
  throw unsupported(
    call.media.firstFilePath ?? 'file',
    `This model does not read files. Set \`plugins: [{"id": "file-parser", "pdf": {"engine": "${publicNames.fileEngine}"}}]\` to have files parsed, or use a model with \`file\` among its input modalities.`,
  )
}

const ONE_OF = new Intl.ListFormat('en-GB', { type: 'disjunction' })

function unfitModel(
  { modelId, endpoints }: Offer,
  { format, formats }: Pick<OfferCheck, 'format' | 'formats'>,
): Problem {
  const fit = formats.filter(({ endpoint }) => endpoints.includes(endpoint))
  const message =
    fit.length === 0
      ? `Model "${modelId}" can't be called at any endpoint of this gateway. Use another model.`
      : `Model "${modelId}" can't be called at POST ${format.path}. Use ${ONE_OF.format(fit.map(({ path }) => `POST ${path}`))}. \`endpoints\` in GET /v1/models has the formats of each model.`
  return new Problem('unsupported_model', { param: 'model', message })
}
