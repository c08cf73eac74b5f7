import { z } from 'zod';
import { endpoint } from './endpoint.ts';

export const Check = z.object({ ok: z.boolean(), detail: z.string() });
const ToolIsolation = z
  .enum(['namespaces', 'landlock', 'process', 'refused'])
  .describe(
    'How tool calls are confined, strongest first. process: not confined. refused: none is run, because this machine cannot confine them or has no Python; the check `tools` has the reason',
  );
export const Readiness = z
  .object({ status: z.enum(['ready', 'not_ready']), tool_isolation: ToolIsolation, checks: z.record(z.string(), Check) })
  .meta({ id: 'Readiness' });

const tag = 'Health';

export const health = {
  live: endpoint('GET /health/live', {
    operation: 'live',
    access: null,
    tag,
    summary: 'Whether the process answers',
    reply: z.object({ status: z.literal('live') }).meta({ id: 'Liveness' }),
  }),
  ready: endpoint('GET /health/ready', {
    operation: 'ready',
    access: null,
    tag,
    summary: 'Whether database, engine and its setup, events and migrations are healthy',
    description:
      '503 with the same body if one is not. `workers` and `bucket` (with `S3_BUCKET`) report what is missing and do not fail in the API: ' +
      'prompts are accepted, and runs wait. `bucket` fails in a worker.',
    reply: Readiness,
  }),
};
