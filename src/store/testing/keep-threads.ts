import { keepThreads } from '../sqlite/job-host.ts'

// A test opens and closes its own stores: two gateways use no more threads at once.
keepThreads(6)
