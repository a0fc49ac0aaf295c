/** `acct_01kb…7m2q`: an ID where a column has no room for all of it. Both ends stay, so that two stay distinct. */
export function shortId(id: string): string {
  return id.length <= 16 ? id : `${id.slice(0, 9)}…${id.slice(-4)}`
}
