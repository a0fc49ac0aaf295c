import { measureHouse, type RoomSize } from './house.ts'
import type { SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

/** What `src/` may have at most. */
export interface HouseLimits {
  /** A room that is not named may have nothing. */
  readonly rooms: Readonly<Record<string, RoomSize>>
  readonly interfacesUsedOnce: number
}

/**
 * The house as it stands. A room that becomes smaller lowers its row; a row is raised for something new
 * that the product does, with the reason beside it.
 */
export const HOUSE_LIMITS: HouseLimits = {
  rooms: {
    // The steps of charts.
    vocabulary: { files: 11, lines: 971 },
    json: { files: 7, lines: 1_141 },
    // Large texts are estimated in parts, and calls sized in them, so that others get the thread between.
    tokens: { files: 2, lines: 466 },
    // Roll-ups are tables, and upkeep passes over the store are begun and stopped in one way.
    store: { files: 24, lines: 2_634 },
    // Prepared reads name their columns, since a planned `*` fails once a column is added.
    // Requests that few filters match are searched for by slices of time.
    ledger: { files: 31, lines: 4_805 },
    formats: { files: 21, lines: 2_737 },
    upstreams: { files: 18, lines: 2_631 },
    catalog: { files: 5, lines: 1_018 },
    // A body leaves the memory budget once it is sent.
    journey: { files: 23, lines: 3_643 },
    reconcile: { files: 4, lines: 737 },
    // Roll-ups of requests, charts of them, and their audit.
    usage: { files: 7, lines: 1_198 },
    // Lists say how far they were searched; the ledger's names are longer.
    operations: { files: 10, lines: 1_818 },
    http: { files: 18, lines: 2_598 },
    // The names of a command's context are longer.
    cli: { files: 15, lines: 1_673 },
    telemetry: { files: 8, lines: 1_282 },
    // The log line of a request came from http.
    // Roll-ups are upkeep beside pruning.
    app: { files: 17, lines: 2_598 },
    // Operations and commands are handed in.
    'main.ts': { files: 1, lines: 66 },
  },
  // Some are of roll-ups and charts.
  interfacesUsedOnce: 64,
}

/**
 * Nothing is exported that no other file imports, no six lines stand twice, and no room is larger than
 * its row.
 */
export function checkHouse(tree: readonly SourceFile[], limits: HouseLimits): Violation[] {
  const house = measureHouse(tree)
  const violations: Violation[] = []
  const object = (path: string, message: string): void => {
    violations.push({ path, line: null, message })
  }
  for (const place of house.exportsWithoutImporter) {
    const [path = '', name] = place.split(' ')
    object(path, `exports ${name}, which no other file imports`)
  }
  for (const place of house.duplicates) {
    const [one, other = ''] = place.split(' ')
    object(other, `has six lines or more that stand in ${one} too`)
  }
  for (const [room, { files, lines }] of Object.entries(house.rooms)) {
    const most = limits.rooms[room] ?? { files: 0, lines: 0 }
    if (files > most.files) object(`src/${room}`, `has ${files} files, above ${most.files}`)
    if (lines > most.lines) object(`src/${room}`, `has ${lines} lines, above ${most.lines}`)
  }
  const once = house.interfacesUsedOnce.length
  if (once > limits.interfacesUsedOnce) {
    object('src', `has ${once} interfaces that are used once, above ${limits.interfacesUsedOnce}`)
  }
  return violations
}
