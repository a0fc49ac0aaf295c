import type { ParsedCatalog } from '../upstreams/listing/listing.ts'
import type { Claimant, UpstreamSettings } from '../upstreams/upstream-settings.ts'
import type { Decimal } from '../vocabulary/money.ts'
import type { LiveUpstreams } from './command-context.ts'
import type { SpentToken } from './spend-token.ts'

/** The result of asking one upstream for its models. */
interface Checked {
  readonly settings: UpstreamSettings
  readonly claimant: Claimant
  /** Its list, or why there is none. */
  readonly answer:
    | { readonly kind: 'listed'; readonly listed: ParsedCatalog }
    | { readonly kind: 'failed'; readonly cause: unknown }
  /** The rest of the key's limit, in dollars; null: it has no limit, or the upstream does not report it. */
  readonly leftUsd: Decimal | null
  /** The result of asking for a token; null: none was asked for. */
  readonly spent: SpentToken | null
}

/** An upstream that was asked, and which of its models another one has. */
export interface AskedUpstream extends Checked {
  readonly shadowedIds: readonly string[]
}

/**
 * Asks all upstreams for their models, and whether they accept their keys. By position: how they are reached, and whether
 * a token of the one of this name is paid for.
 */
export async function askAll(
  live: LiveUpstreams,
  spends: (upstream: string) => boolean,
): Promise<readonly AskedUpstream[]> {
  const configured = await live.load()
  // The code that talks to providers is loaded only for this: other commands start sooner without it.
  const { Claims } = await import('../catalog/claims.ts')
  const checked = await Promise.all(
    configured.upstreams.map((settings) =>
      ask(settings, { ...live, spend: spends(settings.name) }),
    ),
  )
  const claims = new Claims(checked.map(({ claimant }) => claimant))
  for (const { settings, answer } of checked) {
    if (answer.kind === 'failed') continue
    claims.replace(
      settings.name,
      answer.listed.models.map((model) => ({ ...model, refreshedAtMs: 0 })),
    )
  }
  return checked.map((each) => ({ ...each, shadowedIds: claims.shadowedOf(each.settings.name) }))
}

async function ask(
  settings: UpstreamSettings,
  { loadDialect, catalog, publicNames, spend }: LiveUpstreams & { readonly spend: boolean },
): Promise<Checked> {
  const { Upstream } = await import('../upstreams/upstream.ts')
  const { narrowed } = await import('../upstreams/upstream-settings.ts')
  const { spendToken } = await import('./spend-token.ts')
  const dialect = await loadDialect(settings.dialect)
  const upstream = new Upstream(settings, dialect)
  const { claimant } = upstream
  try {
    const list = await dialect.fetchModels(upstream, { ...catalog, upstream: settings.name })
    const listed = narrowed(list, settings)
    // A list of models may be public, and does not show whether the key is good.
    const keyUsage = (await dialect.fetchKeyUsage?.(upstream)) ?? null
    if (keyUsage?.kind === 'refused') throw keyUsage.cause
    const leftUsd = keyUsage?.kind === 'found' ? keyUsage.leftUsd : null
    const spent = spend ? await spendToken(upstream, { models: listed.models, publicNames }) : null
    return { settings, claimant, answer: { kind: 'listed', listed }, leftUsd, spent }
  } catch (cause) {
    const answer = { kind: 'failed', cause } as const
    return { settings, claimant, answer, leftUsd: null, spent: null }
  } finally {
    await upstream.destroy()
  }
}
