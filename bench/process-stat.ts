/** The figures of one process in `/proc/<pid>/stat`. */
export interface ProcessStat {
  readonly pid: number
  readonly parentPid: number
  /** Its threads' time on a processor, in user and kernel mode, with those that have ended. */
  readonly cpuTicks: number
  /** Processor time of children that have ended and were waited for. */
  readonly endedChildrenCpuTicks: number
}

/**
 * Reads the text of `/proc/<pid>/stat`. The second field is the program's name, which may hold spaces
 * and brackets: fields are counted from its last bracket. Throws RangeError for another text.
 */
export function parseProcessStat(text: string): ProcessStat {
  const nameEnd = text.lastIndexOf(')')
  const pid = Number.parseInt(text, 10)
  // From field 3, the state, on.
  const fields = text
    .slice(nameEnd + 1)
    .trim()
    .split(' ')
  const [parentPid, user, kernel, childrenUser, childrenKernel] = [4, 14, 15, 16, 17].map((field) =>
    Number(fields[field - 3] ?? Number.NaN),
  )
  const stat = {
    pid,
    parentPid: parentPid ?? Number.NaN,
    cpuTicks: (user ?? Number.NaN) + (kernel ?? Number.NaN),
    endedChildrenCpuTicks: (childrenUser ?? Number.NaN) + (childrenKernel ?? Number.NaN),
  }
  if (nameEnd === -1 || Object.values(stat).some((value) => !Number.isInteger(value))) {
    throw new RangeError(`not the stat of a process: ${text.slice(0, 80)}`)
  }
  return stat
}

/** The processes of a tree: the one of that id, its children, theirs, and so on. */
export function treeOf(stats: readonly ProcessStat[], rootPid: number): ProcessStat[] {
  const byParent = Map.groupBy(stats, ({ parentPid }) => parentPid)
  const tree = stats.filter(({ pid }) => pid === rootPid)
  // The list grows while it is walked: each process brings its children.
  for (const { pid } of tree) tree.push(...(byParent.get(pid) ?? []))
  return tree
}

/** Ticks of a whole tree, including its ended processes. */
export function cpuTicksOf(tree: readonly ProcessStat[]): number {
  return tree.reduce((sum, stat) => sum + stat.cpuTicks + stat.endedChildrenCpuTicks, 0)
}

/** Memory of one process, in bytes, from the text of `/proc/<pid>/status`. */
interface ProcessMemory {
  readonly residentBytes: number
  /** The most it was since the process began, or since its peak was reset. */
  readonly residentPeakBytes: number
}

/** Reads `VmRSS` and `VmHWM`. Throws RangeError where they are missing, as of an ended process. */
export function parseProcessMemory(text: string): ProcessMemory {
  return { residentBytes: kibOf(text, 'VmRSS'), residentPeakBytes: kibOf(text, 'VmHWM') }
}

function kibOf(text: string, name: string): number {
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text) ?? []
  if (kib === undefined) throw new RangeError(`no ${name} in the status of a process`)
  return Number(kib) * 1024
}
