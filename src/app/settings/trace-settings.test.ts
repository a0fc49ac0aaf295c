import { expect, test } from 'vitest'
import { readConfig } from '../config.ts'
import { meterSettingsOf, traceSettingsOf } from './trace-settings.ts'

const COLLECTOR = 'http://collector.example:4318'

function read(env: Readonly<Record<string, string>>) {
  return traceSettingsOf(readConfig(env))
}

test('nothing is traced without the address of a collector, or if the SDK is disabled', () => {
  expect(read({})).toBeNull()
  expect(read({ OTEL_SERVICE_NAME: 'gate', OTEL_TRACES_SAMPLER: 'always_on' })).toBeNull()
  expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_SDK_DISABLED: 'TRUE' })).toBeNull()
})

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR }, `${COLLECTOR}/v1/traces`],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: `${COLLECTOR}/otlp/` }, `${COLLECTOR}/otlp/v1/traces`],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${COLLECTOR}/spans` }, `${COLLECTOR}/spans`],
  [
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://elsewhere.example',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${COLLECTOR}/spans`,
    },
    `${COLLECTOR}/spans`,
  ],
])('traces of %j go to %s', (env, url) => {
  expect(read(env)?.url).toBe(url)
})

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR }, `${COLLECTOR}/v1/metrics`],
  [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${COLLECTOR}/sums` }, `${COLLECTOR}/sums`],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${COLLECTOR}/spans` }, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_METRICS_EXPORTER: 'none' }, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_SDK_DISABLED: 'true' }, undefined],
])('metrics of %j go to %s', (env, url) => {
  expect(meterSettingsOf(readConfig(env))?.url).toBe(url)
})

test('headers and attributes are read from pairs; settings of traces go before common ones', () => {
  expect(
    read({
      OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc%3D%3D, x-team = one',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-team=two',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,host.name=a%2Cb',
    }),
  ).toMatchObject({
    headers: { authorization: 'Basic abc==', 'x-team': 'two' },
    resourceAttributes: { 'deployment.environment.name': 'test', 'host.name': 'a,b' },
  })
})

test.each([
  { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
  { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
  { OTEL_EXPORTER_OTLP_HEADERS: 'no pair' },
  { OTEL_EXPORTER_OTLP_HEADERS: 'x(y)=no%20name' },
  { OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-team=two%0Alines' },
  { OTEL_RESOURCE_ATTRIBUTES: 'name=%E0%A4%A' },
  { OTEL_TRACES_SAMPLER: 'sometimes' },
  { OTEL_METRICS_EXPORTER: 'prometheus' },
  { OTEL_METRIC_EXPORT_INTERVAL: '0' },
  { OTEL_METRIC_EXPORT_INTERVAL: '86400001' },
  { OTEL_TRACES_SAMPLER_ARG: '1.5' },
])('%j is refused at the start', (env) => {
  expect(() => readConfig(env)).toThrow(Object.keys(env)[0] ?? '')
})
