import { keepThreads } from '../sqlite/job-host.ts'

// A test opens and closes stores of its own: two gateways have no more at once.
keepThreads(6)
