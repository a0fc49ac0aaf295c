interface LockedPackage {
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** A package-lock.json, as far as it is read here. */
interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/**
 * The lock of a checkout without what is needed there alone: the packages of its tests, and Node, which users of the
 * package have.
 */
export function lockOfUsers(lock: Lock): Lock {
  const { devDependencies: _, optionalDependencies: __, ...root } = lock.packages[''] ?? {}
  const packages: Lock['packages'] = { ...lock.packages, '': root }
  const needed = new Set([''])
  for (const from of needed) {
    const { dependencies, optionalDependencies } = packages[from] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const path = whereFound(name, from, packages)
      if (path !== null) needed.add(path)
    }
  }
  const others = [...needed].filter((path) => path !== '').sort()
  return {
    ...lock,
    packages: {
      '': root,
      ...Object.fromEntries(others.map((path) => [path, packages[path] ?? {}])),
    },
  }
}

/** Where Node finds a package that is imported from another: in the nearest `node_modules` above it. */
function whereFound(
  name: string,
  from: string,
  packages: Readonly<Record<string, LockedPackage>>,
): string | null {
  const folder = from === '' ? '' : `${from}/`
  const path = `${folder}node_modules/${name}`
  if (packages[path] !== undefined) return path
  return from === ''
    ? null
    : whereFound(name, from.replace(/\/?node_modules\/(?:@[^/]+\/)?[^/]+$/, ''), packages)
}
