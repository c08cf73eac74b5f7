import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import fastifyOtel from '@fastify/otel';
import { isSpanContextValid, trace } from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { detectResourcesSync, envDetector, hostDetector, Resource } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
} from '@temporalio/interceptors-opentelemetry';
import type { WorkerOptions } from '@temporalio/worker';
import type { FastifyInstance } from 'fastify';
import { getReason } from '../domain/reason.ts';
import type { ModelRuntime } from '../runtimes/runtime.ts';
import type { ActivityPorts } from '../temporal/activities/index.ts';
import { cleanSpans } from './spans.ts';
import { type ModelPlace, tracePorts, traceRuntime } from './traced.ts';

interface TracingSettings {
  version: string;
  /** The name of this service if neither OTEL_SERVICE_NAME nor OTEL_RESOURCE_ATTRIBUTES contains one. */
  service: string;
  protocol: 'http/protobuf' | 'http/json';
  /** True if OTEL_PROPAGATORS names the headers that are sent with calls; otherwise only `traceparent` is sent. */
  propagators_set: boolean;
  /** True if prompts, answers, arguments and results of tools may leave the process. */
  content: boolean;
  redact(text: string): string;
  log(message: string): void;
}

/** The traces of this process. The SDK reads their destination and sampling from the standard variables. */
export interface Tracing {
  /** The interceptors for clients of Temporal. */
  clientInterceptors: { workflow: OpenTelemetryWorkflowClientInterceptor[] };
  /** The tracing options of a worker. */
  workerOptions: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
  /** The modules to add to the bundle of workflow code. */
  workflowModules: string[];
  /** Starts a span for each request. Call it before any route is added. */
  watch(http: FastifyInstance): Promise<void>;
  /** Wraps each call of a model and of a tool in a span. */
  ports(ports: ActivityPorts): ActivityPorts;
  runtime(runtime: ModelRuntime, place: Omit<ModelPlace, 'content'>): ModelRuntime;
  /** Returns the ids of the current span, for log lines; empty if there is none. */
  ids(): { trace_id?: string; span_id?: string };
  /** Sends the spans that have ended, and stops tracing. */
  close(): Promise<void>;
}

/** How long a stopping process waits for a collector that does not answer. */
const LAST_MS = 3_000;
/** The time between two reports of a failure: while a collector is down, every batch fails. */
const SILENCE_MS = 60_000;

function throttleReports(log: (message: string) => void) {
  let last = Number.NEGATIVE_INFINITY;
  return (error: unknown) => {
    if (performance.now() - last < SILENCE_MS) return;
    last = performance.now();
    log(`Traces are not sent (${getReason(error)}): look at OTEL_EXPORTER_OTLP_ENDPOINT and at the collector`);
  };
}

/**
 * Requests without spans. Probes arrive every few seconds and always get the same answer; the last path contains the code of a
 * sign-in.
 */
const UNWATCHED = ['/health/live', '/health/ready', '/metrics', '/auth/callback'];

/** Starts tracing. Call it once in a process. */
export function openTracing({ version, service, protocol, propagators_set, content, redact, log }: TracingSettings): Tracing {
  setGlobalErrorHandler(throttleReports(log));
  const resource = new Resource({ [ATTR_SERVICE_NAME]: service, [ATTR_SERVICE_VERSION]: version }).merge(
    detectResourcesSync({ detectors: [hostDetector, envDetector] }),
  );
  const exporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
  const processor: SpanProcessor = cleanSpans(new BatchSpanProcessor(exporter), { content, redact });
  const provider = new NodeTracerProvider({ resource, spanProcessors: [processor] });
  // By default, the SDK also forwards the caller's baggage: to models, and to the servers and receivers that users name.
  provider.register(propagators_set ? {} : { propagator: new W3CTraceContextPropagator() });
  const outgoing = new UndiciInstrumentation({ requireParentforSpans: true });
  const incoming = new fastifyOtel.FastifyOtelInstrumentation({
    instrumentHooks: false,
    recordExceptions: false,
    ignorePaths: ({ url }) => UNWATCHED.includes(url.split('?')[0] as string),
    requestHook: (span, { method, routeOptions: { url = 'unknown' } }) => void span.updateName(`${method} ${url}`),
  });
  return {
    clientInterceptors: { workflow: [new OpenTelemetryWorkflowClientInterceptor()] },
    workerOptions: {
      interceptors: { activity: [(context) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(context) })] },
      sinks: { exporter: makeWorkflowExporter(processor, resource) },
    },
    workflowModules: [
      createRequire(import.meta.url).resolve('@temporalio/interceptors-opentelemetry/lib/workflow-interceptors.js'),
    ],
    async watch(http) {
      await http.register(incoming.plugin());
    },
    ports: (ports) => tracePorts(ports, { content }),
    runtime: (runtime, place) => traceRuntime(runtime, { ...place, content }),
    ids: currentIds,
    async close() {
      outgoing.disable();
      incoming.disable();
      const shutdown = provider.shutdown().catch(() => {});
      await Promise.race([shutdown, wait(LAST_MS, undefined, { ref: false })]);
    },
  };
}

function currentIds(): { trace_id?: string; span_id?: string } {
  const context = trace.getActiveSpan()?.spanContext();
  return context && isSpanContextValid(context) ? { trace_id: context.traceId, span_id: context.spanId } : {};
}
