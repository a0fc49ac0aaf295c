/**
 * Has Node load the code of a test run as it loads that of a server. Vitest would transform each file, once more for each
 * project; Node keeps what it has compiled for all workers. It needs no module mocks, which tests here don't have.
 */
export const LOADED_BY_NODE = { experimental: { viteModuleRunner: false, nodeLoader: false } }
