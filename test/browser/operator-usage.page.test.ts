import { answeredScreens, type Screen, testScreens } from './each-screen.ts'
import { down, json } from './stand-in.ts'
import { OPERATOR_REPORT } from './stand-in-usage.ts'

/** Usage and margin of all accounts, and models with the provider's prices. */

const NONE = { ...OPERATOR_REPORT.totals, requests: 0, charge: 0, cost: 0, margin: 0 }

const SCREENS: readonly Screen[] = [
  { name: 'op-usage', path: 'operator/usage?compare=before', text: 'All 3 accounts' },
  { name: 'op-usage-by-day', path: 'operator/usage?by=day&range=7d', text: 'Provider cost' },
  ...answeredScreens({ path: 'operator/usage', pathEnd: '/operator/usage/report' }, [
    [
      'op-usage-empty',
      json({ ...OPERATOR_REPORT, totals: NONE, data: [] }),
      'No requests in this period.',
    ],
    ['op-usage-error', down, 'The usage report could not be loaded.'],
  ]),
  { name: 'op-models', path: 'operator/models', text: '$42.00 per M image tokens' },
  { name: 'op-models-none', path: 'operator/models?find=nothing', text: 'No model matches.' },
  ...answeredScreens({ path: 'operator/models', pathEnd: '/operator/models' }, [
    ['op-models-error', down, 'The models could not be loaded.'],
  ]),
]

testScreens(SCREENS)
