/**
 * Makes Node load the code of a test run as it loads a server's code. Vitest would transform each file, once more for each
 * project; Node keeps compiled code for all workers. Module mocks would not work, and tests here have none.
 */
export const LOADED_BY_NODE = { experimental: { viteModuleRunner: false, nodeLoader: false } }
