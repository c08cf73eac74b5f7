import type { Tracing } from '../../observe/tracing.ts';
import { currentTask } from '../../temporal/worker/log-place.ts';
import { type Config, isTraced } from '../config.ts';
import type { InstallationSettings } from '../installation-settings.ts';
import type { LogIds, ProcessLog } from '../log.ts';
import type { Resources } from '../resources.ts';
import type { SecretScope } from './secret-scope.ts';

/** Returns the origin of a log line: the run whose activity writes it, and its trace. */
export function getLogOrigin(tracing: Tracing | null): LogIds {
  const [task_id, trace_id] = [currentTask(), tracing?.ids().trace_id];
  return { ...(task_id ? { task_id } : {}), ...(trace_id ? { trace_id } : {}) };
}

interface TracedInstallation {
  setting: InstallationSettings;
  secrets: SecretScope;
  write: ProcessLog;
}

/** Returns what the environment sets of traces; the SDK itself reads the other standard variables. */
export const getTraceSettings = (config: Config) => ({
  protocol: config.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? config.OTEL_EXPORTER_OTLP_PROTOCOL,
  propagators_set: config.OTEL_PROPAGATORS !== undefined,
  content: config.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT,
});

/** Starts traces. OpenTelemetry's packages are loaded only if its variables turn traces on. */
export async function startTracing(
  { setting: { config, version }, secrets, write }: TracedInstallation,
  resources: Resources,
): Promise<Tracing | null> {
  if (!isTraced(config)) return null;
  const { openTracing } = await import('../../observe/tracing.ts');
  const tracing = openTracing({
    version,
    service: 'perdura',
    ...getTraceSettings(config),
    redact: (text) => secrets.redact.text(text),
    log: (message) => write(secrets.redact.text(message)),
  });
  return resources.hold(tracing, (it) => it.close());
}
