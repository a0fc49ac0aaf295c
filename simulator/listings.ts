import type { JsonObject } from './json-value.ts'
import type { World } from './world.ts'

const ENDPOINTS = /^\/(images\/)?models\/([^/]+\/[^/]+)\/endpoints$/

/** The body of a GET below `/v1`; null for a path or a thing that is not there. */
export function readListing(world: World, path: string, query: string): JsonObject | null {
  const search = new URLSearchParams(query)
  if (world.vendor !== null) return path === '/models' ? world.vendor.list(world.catalog) : null
  switch (path) {
    case '/models':
      return world.catalog.list(search)
    case '/images/models':
      return world.catalog.listImages()
    case '/generation':
      return world.generations.ask(search.get('id') ?? '')
    case '/key':
      return { data: { ...KEY, usage: world.generations.usedUsd } }
    default: {
      const match = ENDPOINTS.exec(path)
      if (match === null) return null
      const id = decodeURIComponent(match[2] ?? '')
      return match[1] === undefined ? world.catalog.endpoints(id) : world.catalog.imageEndpoints(id)
    }
  }
}

const KEY: JsonObject = {
  label: 'simulator',
  limit: null,
  limit_remaining: null,
  limit_reset: null,
  include_byok_in_limit: false,
  usage_daily: 0,
  usage_weekly: 0,
  usage_monthly: 0,
  byok_usage: 0,
  is_free_tier: false,
  is_management_key: false,
  rate_limit: { requests: -1, interval: '10s', note: 'none' },
}
