/** The channel on which a test names the instance that is to crash. */
export const CRASHES = 'tollgate-test-crashes'
