// Undici's index loads its fetch, caches, mocks and proxies too: 12 MB that nothing here uses. These are the parts that
// are used, with the types that its index gives them.
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici'
  export default Pool
}

declare module 'undici/lib/core/errors.js' {
  import { errors } from 'undici'
  export default errors
}

declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici'
  export default buildConnector
}
