import { acquireServeLock } from '../sqlite/sqlite-connection.ts'

/** A process that takes the serve lock of the store file in its argument, and keeps it until killed. */
acquireServeLock(process.argv[2] ?? '')
process.stdout.write('locked\n')
process.stdin.resume()
