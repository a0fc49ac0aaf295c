/** The checks of readiness by their names, in words. */
export const CHECKS: Readonly<Record<string, string>> = {
  store: 'Store',
  prices: 'Prices',
  serving: 'Serving',
  upstream_account: 'Account at the upstream',
  chain_nodes: 'Nodes of the chain',
  email: 'Email',
  proxies: 'Proxies in front',
}
