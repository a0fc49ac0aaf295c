import { afterEach, beforeEach } from 'vitest'
import { startWorld, type World } from '../world.ts'

type Settings = Readonly<Record<string, string>>

/** A world of a test about the page. */
interface PageWorld extends World {
  /** How far its clock is ahead, which a test moves on. */
  passedMs: number
  /** Closes it, and starts another with these settings too. */
  reopen(settings?: Settings): Promise<void>
}

/** A separate world for each test, with the settings that are right before it. */
export function pageWorld(settingsOf: () => Settings): PageWorld {
  const clock = { nowMs: () => Date.now() + world.passedMs }
  const open = async (settings: Settings = {}): Promise<void> => {
    world.passedMs = 0
    const started = await startWorld({ settings: { ...settingsOf(), ...settings }, clock })
    Object.assign(world, started)
  }
  const world: PageWorld = Object.assign({} as World, {
    passedMs: 0,
    async reopen(settings?: Settings) {
      await world.close()
      await open(settings)
    },
  })
  beforeEach(() => open())
  afterEach(() => world.close())
  return world
}
