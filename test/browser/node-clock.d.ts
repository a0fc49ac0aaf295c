// These tests have a browser's types, and some start the gateway, which asks the clock of Node for more.
interface Performance {
  readonly eventLoopUtilization: typeof import('node:perf_hooks').performance.eventLoopUtilization
}
