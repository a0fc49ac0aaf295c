import { measureHouse, type RoomSize } from './house.ts'
import type { SourceFile, Violation } from './source-tree.ts'

/** What `src/` may have at most. */
export interface HouseLimits {
  /** A room that is not named may have nothing. */
  readonly rooms: Readonly<Record<string, RoomSize>>
  readonly interfacesUsedOnce: number
}

/**
 * The house as it stands. A room that becomes smaller lowers its row; a row is raised for something new
 * that the product does, and what the room has beyond its plan stands above it.
 */
export const HOUSE_LIMITS: HouseLimits = {
  rooms: {
    // Steps of charts, roles, links and scopes, events of webhooks, purchases and what payments are worth, counts that
    // are the cost, codes that people type, steps of alerts, tags and windows of requests, and the calendar of allowances.
    vocabulary: { files: 19, lines: 1_629 },
    json: { files: 7, lines: 1_167 },
    // Letters, addresses of mail servers, sending with a deadline, and letters that wait.
    mail: { files: 4, lines: 488 },
    // Large texts are estimated in parts, so that others get the thread between.
    tokens: { files: 2, lines: 466 },
    // Tables of roll-ups, people, admin tokens, webhooks, operators' actions, purchases, deposits, doubts and lists by
    // upstream; columns of texts, limits and what shops note on accounts; commands that share no commit; which program may migrate
    // a store, or must restore which copy; second factors, and alerts.
    store: { files: 50, lines: 4_147 },
    // Purchases and statements, operators' actions, owners of new accounts, searches by slices of time, reported costs
    // that stand, allowances that reset with their audit, counts of periods apart, limits, tags, and the number that changes
    // of callers raise.
    ledger: { files: 40, lines: 7_115 },
    // Whether a client asks for the event with the usage.
    formats: { files: 21, lines: 2_747 },
    // Four dialects with their prices and lists, settings of each upstream, its limit of calls and their queue, and the
    // usage and the credit of its key.
    upstreams: { files: 32, lines: 4_243 },
    // Which upstream has which model, doubted figures, models that the settings write, lists for single keys, and which
    // upstreams failed.
    catalog: { files: 8, lines: 1_390 },
    // Users of the page, calls that other routes have authenticated, providers that bill by counts, places at an upstream,
    // events that pass without being parsed, models and limits of a caller, other calls that are counted, and keys that are
    // read again together.
    journey: { files: 24, lines: 4_417 },
    // Which reported costs are looked up, doubts in them, those that stand, and the usage of the upstream's key.
    reconcile: { files: 8, lines: 1_386 },
    // Roll-ups of requests by hour and day, charts and CSV of them, sums of any period, and their audit.
    usage: { files: 8, lines: 1_698 },
    // Users, sessions, passwords, links and mailed codes of the page, second factors with passkeys, sign-in at outside providers, sign-up,
    // the members of an account, and admin tokens.
    people: { files: 28, lines: 3_877 },
    // Payments by card at Stripe and their pages, deposits on a chain, tokens that wait and why, looks and whether more
    // follow, ceilings, figures, checks of both and of balances, and a rescan.
    sale: { files: 32, lines: 3_883 },
    // What is looked for, limits and allowances of keys, what holds when a webhook is made, signed messages, retries by
    // chance, and addresses that are refused.
    webhooks: { files: 8, lines: 1_249 },
    // What accounts and keys cross, each once, and the mails about it.
    alerts: { files: 5, lines: 649 },
    // The page's reads, CSV, reports of usage, generations, the desk of operators, offers, quotes, purchases, their pages,
    // receipts, deposit addresses, admin tokens, on the page too, and scopes, invitations by mail, webhooks, lists of
    // models, limits, who may raise and how often set them, metadata, a report's most tags, turns of reports, and the
    // page's webhooks and usage by tag.
    operations: { files: 32, lines: 6_426 },
    // The page's files, sign-in, second factors and guards, the Playground, the page of play money, messages about payments, and how much a
    // key may call beside inference.
    http: { files: 29, lines: 4_383 },
    // `tollgate usage`, `user`, `token`, `webhook`, `purchase`, `sale` and `upstream`, and options of models and limits.
    // receipts, deposit addresses, admin tokens and scopes, webhooks, lists of models, limits and metadata, a
    // report's most tags, and what owners do about members.
    // The page's files, sign-in, second factors and guards, the Playground, the page of play money, and messages about payments.
    cli: { files: 26, lines: 3_129 },
    // Figures of the sale, of looks at a chain, of reported costs, and of each upstream, its key and its credit.
    telemetry: { files: 8, lines: 1_521 },
    // Settings of fees and those of no model, the page, the sale, chains, look-ups, upstreams and webhooks, the file of
    // upstreams, and their wiring.
    // `tollgate usage`, `user`, `token`, `webhook`, `mail`, `purchase`, `sale` and `upstream`, and options of models and limits.
    // Settings of fees and those of no model, the page, the sale, chains, look-ups, upstreams and webhooks, the file of upstreams, and their
    // Settings of fees, the page, mail, sign-in at outside providers, the sale, chains, look-ups, upstreams and webhooks, the file of upstreams, and their
    // wiring.
    app: { files: 36, lines: 5_172 },
    // Operations and commands are handed in, and settings may be wrong together.
    'main.ts': { files: 1, lines: 90 },
  },
  // Many are what one class or function takes, by name.
  interfacesUsedOnce: 107,
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
