import manifest from '../../package.json' with { type: 'json' }

/** The program's version, as its package has it. */
export const VERSION: string = manifest.version
