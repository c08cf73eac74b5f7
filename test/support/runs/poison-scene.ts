import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Client, StreamedEvent } from '../client.ts';
import { helpers, startTestInstallation, type TestInstallation } from '../installation.ts';
import { startFloorService } from '../machine/processes.ts';
import { type Answer, says } from '../peers/model-server.ts';

const TIMES = { MODEL_SILENCE_SECONDS: '2', MODEL_RETRY_AFTER_MAX_SECONDS: '1' };
/** The memory of one answer of the largest size, parsed, and of what Node has not collected from earlier ones. */
const MOST_GROWTH_MB = 700;

export interface PoisonScene {
  here: TestInstallation;
  user: Client;
  does: ReturnType<typeof helpers>;
  /** Runs a workflow whose model gives these answers. Returns the task, its events and the requests that the model received. */
  run(script: Answer[], options?: Parameters<TestInstallation['workflow']>[0]): Promise<Poisoned>;
  /** Fails if the process does not answer, or needed more memory than one answer may take. */
  isWell(): Promise<void>;
  stop(): Promise<void>;
}

interface Poisoned {
  task: Record<string, any>;
  stream: StreamedEvent[];
  logs: Record<string, any>[];
  requests: TestInstallation['model']['requests'];
}

/** Starts API and worker in a separate process, which the output of a model or MCP server may harm. */
export async function startPoisonScene({ total_seconds = 8 } = {}): Promise<PoisonScene> {
  const here = await startTestInstallation({ worker: false });
  const env = { ...TIMES, MODEL_TOTAL_SECONDS: String(total_seconds), ALLOW_STDIO_MCP: 'true', MCP_PATHS: '/:rw' };
  const { api, client: user } = await startFloorService(here.setting, env);
  const does = helpers(user, here.model);
  /** Returns the process's peak memory, as the system counts it. */
  const peakMb = () => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${api.pid}/status`, 'utf8'))![1]) / 1_024;
  here.model.script(says('warm'));
  await does.ended(await does.prompt(await does.workflow()), 60_000);
  const resting_mb = peakMb();
  return {
    ...{ here, user, does },
    async run(script, options = {}) {
      const before = here.model.requests.length;
      here.model.script(...script);
      const workflow_id = await does.workflow(options);
      const task_id = await does.prompt(workflow_id);
      const task = await does.ended(task_id, 60_000);
      const stream = await user.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}&after=0`);
      const logs = stream.filter(({ type }) => type === 'log').map(({ data }) => data);
      return { task, stream, logs, requests: here.model.requests.slice(before) };
    },
    async isWell() {
      expect((await user.get('/health/live')).status).toBe(200);
      expect(peakMb() - resting_mb).toBeLessThan(MOST_GROWTH_MB);
    },
    async stop() {
      await api.end('SIGTERM');
      await here.stop();
    },
  };
}

/** Checks that the run fails with this error, and that what it leaves is short. */
export async function failsWith({ run, isWell }: PoisonScene, [answer, error_code]: [Answer, string]): Promise<void> {
  const asked = error_code === 'model_stream_cut' ? 3 : 1;
  const { task, stream, requests } = await run(Array.from({ length: asked }, () => answer));
  expect(task).toMatchObject({ status: 'failed', error_code });
  expect(task.error).toMatch(/^The /);
  expect(requests).toHaveLength(asked);
  expect(JSON.stringify([task, stream]).length).toBeLessThan(64_000);
  await isWell();
}
