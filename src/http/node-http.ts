/**
 * Node's HTTP module. `import … from 'node:http'` reads all that the module exports, and with that loads Node's own
 * `fetch` and `WebSocket`: 14 MB, which a server that calls neither keeps.
 */
export const http = process.getBuiltinModule('node:http')
