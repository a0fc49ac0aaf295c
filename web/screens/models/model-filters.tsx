import { type ReactNode, useState } from 'react'
import type { Model } from '../../api/answers.ts'
import { FindField } from '../../parts/find-field.tsx'
import { Choose, PickMany } from '../../parts/pick.tsx'
import { vendorName, vendorsOf } from './model-list.ts'
import { MODEL_SORTS, type ModelSort, type ModelsSearch, WRITES, type Writes } from './search.ts'

const SORTS = Object.entries(MODEL_SORTS).map(([value, text]) => ({ value, text }))
const KINDS = Object.entries(WRITES) as readonly (readonly [Writes, string])[]
const CONTEXTS = [
  { value: '0', text: 'Any context' },
  { value: '32000', text: 'From 32 K' },
  { value: '128000', text: 'From 128 K' },
  { value: '200000', text: 'From 200 K' },
  { value: '1000000', text: 'From 1 M' },
]
const VENDORS_MAX = 7

interface ModelFiltersProps {
  readonly models: readonly Model[]
  readonly search: ModelsSearch
  /** The label of the search field. Default: that it finds names, IDs and descriptions. */
  readonly finds?: string
  readonly onChange: (
    part: { readonly [K in keyof ModelsSearch]?: ModelsSearch[K] | undefined },
  ) => void
}

/** The filters of the models, and their order. */
export function ModelFilters({
  models,
  search,
  finds = 'Name, ID or description',
  onChange,
}: ModelFiltersProps) {
  const { find = '', sort = 'used', context, supports = [] } = search
  const parameters = [...new Set(models.flatMap((model) => model.supported_parameters))].sort()
  return (
    <>
      <div className="filters">
        <FindField
          label={finds}
          value={find}
          onChange={(text) => onChange({ find: text === '' ? undefined : text })}
        />
        <Choose
          label="Sort"
          options={SORTS}
          value={sort}
          onChange={(value) => onChange({ sort: value as ModelSort })}
        />
        <Choose
          label="Context"
          unset="0"
          options={CONTEXTS}
          value={String(context ?? 0)}
          onChange={(value) => onChange({ context: value === '0' ? undefined : Number(value) })}
        />
        <PickMany
          label="Supports"
          options={parameters.map((value) => ({ value, text: value.replaceAll('_', ' ') }))}
          picked={supports}
          onChange={(values) => onChange({ supports: values.length === 0 ? undefined : values })}
        />
      </div>
      <Chips models={models} search={search} onChange={onChange} />
    </>
  )
}

function Chips({ models, search, onChange }: ModelFiltersProps) {
  const { vendor, writes, open } = search
  const [isWhole, setWhole] = useState(false)
  const vendors = vendorsOf(models)
  const hidden = isWhole ? [] : vendors.slice(VENDORS_MAX).filter((one) => one !== vendor)
  const isAll = vendor === undefined && writes === undefined && open === undefined
  return (
    <div className="vendors">
      <ChipGroup label="Vendor">
        <button
          type="button"
          aria-pressed={isAll}
          onClick={() => onChange({ vendor: undefined, writes: undefined, open: undefined })}
        >
          All
        </button>
        {vendors
          .filter((one) => !hidden.includes(one))
          .map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={vendor === one}
              onClick={() => onChange({ vendor: vendor === one ? undefined : one })}
            >
              {vendorName(one)}
            </button>
          ))}
        {hidden.length > 0 && (
          <button type="button" onClick={() => setWhole(true)}>
            {hidden.length} more
          </button>
        )}
      </ChipGroup>
      <span className="sep" aria-hidden="true" />
      <ChipGroup label="Writes">
        {KINDS.map(([value, text]) => (
          <button
            key={value}
            type="button"
            aria-pressed={writes === value}
            onClick={() => onChange({ writes: writes === value ? undefined : value })}
          >
            {text}
          </button>
        ))}
      </ChipGroup>
      <span className="sep" aria-hidden="true" />
      <ChipGroup label="Credit">
        <button
          type="button"
          aria-pressed={open === true}
          onClick={() => onChange({ open: open === true ? undefined : true })}
        >
          Free credit
        </button>
      </ChipGroup>
    </div>
  )
}

function ChipGroup({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser
    <div className="chips" role="group" aria-label={label}>
      {children}
    </div>
  )
}
