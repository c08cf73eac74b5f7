import { context, propagation, trace } from '@opentelemetry/api';
import { globalErrorHandler } from '@opentelemetry/core';
import { afterEach, expect, it } from 'vitest';
import { openTracing } from '../../src/observe/tracing.ts';

afterEach(() => {
  for (const api of [context, propagation, trace]) api.disable();
});

/** Opens tracing to a collector that nobody asks. */
function open(propagators_set: boolean) {
  const lines: string[] = [];
  const tracing = openTracing({
    ...{ version: '1', service: 'perdura', protocol: 'http/json', content: false, propagators_set },
    redact: (text) => text,
    log: (line) => lines.push(line),
  });
  return { lines, tracing };
}

it('a collector that is down is reported once, not for every batch', async () => {
  const { lines, tracing } = open(false);
  globalErrorHandler(new Error('refused'));
  globalErrorHandler(new Error('refused again'));
  await tracing.close();
  expect(lines).toEqual([expect.stringMatching(/^Traces are not sent \(refused\): look at OTEL_EXPORTER_OTLP_ENDPOINT/)]);
});

it.each([
  [false, ['traceparent', 'tracestate']],
  [true, ['traceparent', 'tracestate', 'baggage']],
])('calls carry only the headers of a trace, unless OTEL_PROPAGATORS names others: %s', async (propagators_set, headers) => {
  const { tracing } = open(propagators_set);
  const fields = propagation.fields();
  await tracing.close();
  expect(fields).toEqual(headers);
});
