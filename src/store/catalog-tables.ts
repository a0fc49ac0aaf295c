import { integer, type RowOf, Table, text } from './table.ts'

/** The newest complete list of each upstream, so that a restart has prices. */
export const CATALOG_MODELS = new Table('catalog_models', {
  key: ['upstream', 'id'],
  fixed: {
    /** The name of the upstream that listed it. */
    upstream: text,
    id: text,
    item_json: text,
  },
})

/** One row for each upstream with a list. */
export const CATALOG_STATE = new Table('catalog_state', {
  key: ['upstream'],
  fixed: {
    upstream: text,
    /** The base address that listed the models. */
    source: text,
    /** The upstream's place in the order of the settings, from 0. */
    place: integer,
    refreshed_at_ms: integer,
  },
})

/** Prices that charges were computed with: exact tables of one model each, kept for ever. */
export const PRICE_SNAPSHOTS = new Table('price_snapshots', {
  key: ['id'],
  fixed: {
    id: text,
    model_id: text,
    /** Canonical JSON, prices as decimal strings of pico-dollars. */
    prices_json: text,
    /** When they were first seen. */
    created_at_ms: integer,
  },
})

/** An exact price table of one model, which charges refer to. */
export type PriceSnapshotRow = RowOf<typeof PRICE_SNAPSHOTS>
