/**
 * Where the hold of a request stands.
 *
 * `open → provisional → final`, `open → final`, `open → released`,
 * `open → unresolved → provisional | final | released`. Each move happens once.
 */
export type RequestState = 'open' | 'provisional' | 'unresolved' | 'final' | 'released'
