/** Licences under which the packages of users may be: none asks more than to be named. */
export const ALLOWED_LICENCES: readonly string[] = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MIT-0',
]

/** A package of a bill, as far as it is read here. */
interface Component {
  readonly name: string
  readonly version: string
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string; readonly name?: string }
    readonly expression?: string
  }[]
}

/** The output of `npm sbom` in CycloneDX's format, as far as it is read here. */
export interface Bill {
  readonly serialNumber?: string
  readonly metadata: {
    readonly timestamp?: string
    readonly component: { readonly name: string }
  }
  readonly components: readonly Component[]
}

/**
 * The bill without its time and random number, and with the name of the package where npm has that of a folder: the same
 * packages make the same bytes. Throws where a licence is none of {@link ALLOWED_LICENCES}.
 */
export function billOfMaterials(printed: Bill): Bill {
  const others = printed.components.filter((component) =>
    licencesOf(component).some((licence) => !ALLOWED_LICENCES.includes(licence)),
  )
  if (others.length > 0) {
    const named = others.map((each) => `${each.name} (${licencesOf(each).join(', ')})`)
    throw new Error(`Packages of other licences than those allowed: ${named.join('; ')}.`)
  }
  const { serialNumber: _, metadata, ...bill } = printed
  const { timestamp: __, component, ...told } = metadata
  return { ...bill, metadata: { ...told, component: { ...component, name: 'tollgate' } } }
}

function licencesOf({ licenses = [] }: Component): readonly string[] {
  if (licenses.length === 0) return ['none']
  return licenses.map(({ license, expression }) => {
    return license?.id ?? license?.name ?? expression ?? 'none'
  })
}
