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
 * that the product does, with the reason beside it.
 */
export const HOUSE_LIMITS: HouseLimits = {
  rooms: {
    // The steps of charts; roles and kinds of links of the page, and its problems.
    // A sign-in that is too long ago for money.
    // What purchases are, and what payments are worth.
    // Counts that are the cost.
    // Disputes, what an approval of a held payment is worth, and codes of the sale.
    vocabulary: { files: 13, lines: 1_185 },
    json: { files: 7, lines: 1_167 },
    // Large texts are estimated in parts, and calls sized in them, so that others get the thread between.
    tokens: { files: 2, lines: 466 },
    // Roll-ups are tables, and upkeep passes over the store are begun and stopped in one way.
    // The tables of the people who sign in to the page.
    // What an operator's action was about. The table of purchases.
    // Pages of play money.
    // How far the sale has looked.
    // A list of models for each upstream.
    // The number that changes of callers raise.
    // Tables of roll-ups stand in a file of their own.
    // Doubts in reported costs. The tables of roll-ups have a file.
    // Tables of deposit addresses, rates and deposits that are confirming, and their migration.
    store: { files: 35, lines: 3_353 },
    // Prepared reads name their columns, since a planned `*` fails once a column is added.
    // Requests that few filters match are searched for by slices of time.
    // The latest use of a key, and keys with limits.
    // The key of the Playground, which has no text.
    // What operators change is recorded in the commit that changes it.
    // Purchases: rows, rules and audit. Statements: entries with the balance after each.
    // What waits for its cost is listed, and what it holds.
    // Pruning keeps days that may still get a late request. Lists of unsettled requests use their own index.
    // Held payments are worth their part, and disputes are noted.
    // Unsettled requests of one upstream.
    ledger: { files: 36, lines: 6_129 },
    // Whether a client asks for the event with the usage.
    formats: { files: 21, lines: 2_747 },
    // What a wire refuses, sends by default and replaces.
    // How each upstream is set, and the list of dialects.
    // Reported costs that stand become final in bulk.
    // The usage of a key.
    // A change of what a key stands for raises a number in the same commit.
    // Events are compared with an earlier one by their bytes.
    // Providers that bill by their counts: how they are read, their lists and prices, and three dialects.
    // Calls at once, and those that wait.
    // Written ids before listed ones, and open weights without a repository.
    // The cap that a hold is for is sent, and none above it.
    // The tier of the listed price is sent.
    upstreams: { files: 31, lines: 4_127 },
    // Which models have a doubted figure.
    // Which upstream has which model, and the refreshers of all.
    // Stored models that the settings write otherwise today, and which upstream failed.
    catalog: { files: 8, lines: 1_351 },
    // A body leaves the memory budget once it is sent. A changed key is looked up again alone.
    // The page's users have limits as keys do.
    // A request that another route has authenticated.
    // Who turns maintenance is recorded in the same commit.
    // Counts that are the cost, and providers without look-ups.
    // The upstream of each request, and its own time limits.
    // Events that are like an earlier one pass without being parsed.
    // A place at the upstream before a hold.
    // Requests that were not written in full, apart from those that may run.
    // Streams that are read on for counts that nothing else shows.
    // A dearer tier than the call asked for.
    journey: { files: 23, lines: 4_014 },
    // Upstreams without look-ups.
    // A reported cost may stand.
    // Which reported costs are looked up, doubts in them, those that stand, and the usage of the upstream's key.
    // Keys are cached until the number of changes is another.
    reconcile: { files: 8, lines: 1_377 },
    // Roll-ups of requests, charts of them, and their audit.
    // Days also have rows of accounts without their keys.
    // All steps of all groups for CSV, and groups without first-byte times, which is faster.
    // The charges of several accounts at once. Rolling pauses the longer, the busier the process is.
    // Hours wait for reported costs that stand.
    usage: { files: 7, lines: 1_433 },
    // Users, sessions and links of the page. A password is locked while it is changed, and attempts that were
    // not checked are taken back.
    // The password asked for again.
    // What ends what a person may do.
    // The members of an account.
    people: { files: 10, lines: 1_430 },
    // What is sold, and looks at payments. Several methods; Stripe, whose reports are followed.
    // Figures of what was sold, and a check of payments at their provider.
    // Deposits on a chain: nodes and their agreement, addresses, rates, scans, and the watch.
    // A rescan for addresses that a backup lacks.
    // A payment that its provider no longer has. Dust costs no receipt, and large receipts are asked for one by one.
    sale: { files: 27, lines: 3_205 },
    // Lists say how far they were searched; the ledger's names are longer. Users, and members as callers.
    // Activity as CSV.
    // An account at a glance, and what of it needs a look.
    // Usage over time, and lines of CSV.
    // Operators as callers, and what their desk has beside the admins' operations.
    // Purchases, for admins.
    // What waits for its cost, and how the process is.
    // Offers, quotes, and buying.
    // Offers and quotes of several methods. Receipts.
    // Offers and quotes of several methods.
    // The status and the check of the sale.
    // Deposits that are confirming, and the transactions of purchases.
    operations: { files: 22, lines: 4_400 },
    // The page: its files, sign-in and guards. Callers are asked for again after their body.
    // Access of operators. The route of the Playground.
    // The page that play money is paid on.
    // The Playground asks again once the body has come, and is on the record of operators.
    // Messages about payments. The page of play money looks like the page, and leads back to it.
    http: { files: 26, lines: 3_690 },
    // The names of a command's context are longer. `tollgate user`.
    // `tollgate purchase`.
    // `tollgate user remove`.
    // What is sold is looked at by commands too.
    // Models of several upstreams.
    // `tollgate upstream check`.
    // The upstreams that a refresh failed for.
    // `tollgate sale rescan`.
    cli: { files: 20, lines: 2_190 },
    // What is found about reported costs.
    // Figures of the sale.
    // Refused accounts, by upstream.
    // The age of prices, by upstream.
    telemetry: { files: 8, lines: 1_391 },
    // The log line of a request came from http.
    // Roll-ups are upkeep beside pruning. The page's settings, and the link of the first start.
    // What the operator's desk shows of the process.
    // Whether the page was built from these sources.
    // The sale of credit is opened.
    // The settings of the sale.
    // How busy the process is.
    // Which reported costs are looked up, and its settings.
    // The file of upstreams, its checks, and its reader of YAML with lines.
    // A model whose answers are not counted.
    // Changes of keys are read every second.
    // The settings of a chain, and its watch.
    // An upstream's own age of prices, and a dialect that needs a file.
    // One rule for whether an upstream is configured.
    // A price that can't be charged.
    app: { files: 32, lines: 4_575 },
    // Operations and commands are handed in.
    // The settings of the sale, and its package that is missing.
    // Several upstreams, each with its reconciler and refresher.
    // Operations and commands are handed in. Several upstreams.
    // The settings of a chain, which may be wrong together.
    'main.ts': { files: 1, lines: 85 },
  },
  // Some are of roll-ups and charts, and the input of each part of sign-in. Some are of upstreams.
  interfacesUsedOnce: 88,
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
