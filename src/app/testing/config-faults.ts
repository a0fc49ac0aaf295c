import { readConfig } from '../config.ts'
import { ConfigError } from '../settings/setting.ts'

/** The faults of an environment, a line each, behind the line that introduces them. */
export function faultsOf(env: Readonly<Record<string, string>>): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n').map((line) => line.replace(/^ {2}- /, ''))
  }
}
