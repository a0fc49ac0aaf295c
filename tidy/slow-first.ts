import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Their tests start and kill processes, or play random histories: short files that take the longest of all.
const SLOW =
  /\/test\/(chain|crash|dialects|upgrade)\/|\.model\.test\.ts$|\/src\/usage\/usage\.test\.ts$/

/**
 * Begins each project with its slow files: one that began last would run alone. Vitest itself knows how long files took
 * only where they have run before.
 */
export class SlowFirst extends BaseSequencer {
  /** The files in the order in which they begin. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return slowFirst(await super.sort(files))
  }
}

/** Keeps the order of projects, and else that of the files. */
export function slowFirst<F extends { readonly moduleId: string; readonly project: unknown }>(
  files: readonly F[],
): F[] {
  const byProject = Map.groupBy(files, ({ project }) => project)
  return [...byProject.values()].flatMap((ofProject) => [
    ...ofProject.filter(({ moduleId }) => SLOW.test(moduleId)),
    ...ofProject.filter(({ moduleId }) => !SLOW.test(moduleId)),
  ])
}
