import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { describe, expect, inject, it } from 'vitest';
import { workflowBundle } from '../../src/temporal/worker/bundle.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { leftBehind, startRenewing } from '../support/machine/left-behind.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { HISTORIES, recordHistory } from '../support/runs/recorded-history.ts';

/** A run that began on yesterday's workflow code has to be understood by today's. */
describe('workflow code understands the runs of earlier code', async () => {
  const files = await readdir(HISTORIES).catch(() => []);
  it.each(files)('%s', async (file) => {
    const history: unknown = JSON.parse(await readFile(join(HISTORIES, file), 'utf8'));
    await Worker.runReplayHistory({ workflowBundle: await workflowBundle(inject('cache_dir')) }, history);
  });

  it('and notices when it does not', async () => {
    const history = JSON.parse(await readFile(join(HISTORIES, 'brief.json'), 'utf8'));
    const scheduled = history.events.find(
      (event: { activityTaskScheduledEventAttributes?: object }) => event.activityTaskScheduledEventAttributes,
    );
    scheduled.activityTaskScheduledEventAttributes.activityType.name = 'somethingElse';
    const replay = Worker.runReplayHistory({ workflowBundle: await workflowBundle(inject('cache_dir')) }, history);
    await expect(replay).rejects.toThrow(/determinism/i);
  });
});

const TODO = { name: 'manage_todo_list', args: { todoList: [] } };
const agent = { builtin_tools: ['manage_todo_list'] };

async function brief(here: TestInstallation): Promise<string> {
  here.model.script(asks(TODO, { ...TODO, id: 'second' }), asks(TODO), says('Done.'));
  return here.prompt(await here.workflow({ agent }));
}

/** Each leaves a run behind that has ended; returns its task. */
const SCENES: Record<string, (here: TestInstallation) => Promise<string>> = {
  brief,
  async denied(here) {
    here.model.script(asks(TODO), asks(TODO), asks(TODO), says('Enough.'));
    return here.prompt(await here.workflow({ agent, workflow: { max_turns: 1 } }));
  },
  async failed(here) {
    here.model.script(fails(401));
    return here.prompt(await here.workflow());
  },
  async approved(here) {
    here.model.script(asks(TODO), says('Approved.'));
    const workflow_id = await here.workflow({ agent: { ...agent, approval_tools: ['manage_todo_list'] } });
    const task_id = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: ({ data }) => data.status === 'waiting',
    });
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    return task_id;
  },
  async halted(here) {
    here.model.script(hangs('Half'));
    const workflow_id = await here.workflow();
    const task_id = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: ({ type }) => type === 'message_delta',
    });
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    return task_id;
  },
  async queued(here) {
    const both_sent = Promise.withResolvers<void>();
    here.model.script(says('One two three.', { until: both_sent.promise }), says('Next.'));
    const workflow_id = await here.workflow();
    await here.prompt(workflow_id);
    const task_id = await here.prompt(workflow_id);
    both_sent.resolve();
    return task_id;
  },
  async repaired(here) {
    here.model.script(says('It is 42.'), says('{"sum": 42}'));
    const output_schema = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] };
    return here.prompt(await here.workflow({ workflow: { output_schema } }));
  },
  async renewed(here) {
    here.model.script(asks(TODO), asks(TODO), asks(TODO), says('Renewed.'));
    const task_id = await leftBehind(here, await here.workflow({ agent }));
    await startRenewing(here, task_id, { max_turns: 10, renew_after: 2 });
    return task_id;
  },
};

/** Names of scenes. A history that is kept shows what the code of its day did: record it again only if it was wrong. */
const asked = process.env.RECORD_HISTORIES?.split(',') ?? [];

describe.runIf(asked.length > 0)('recording', () => {
  it('runs each scene and keeps its history', { timeout: 120_000 }, async () => {
    const here = await startTestInstallation();
    try {
      for (const [name, scene] of Object.entries(SCENES).filter(([name]) => asked.includes(name))) {
        const task_id = await scene(here);
        await here.ended(task_id, 60_000);
        await recordHistory(here, task_id, name);
      }
    } finally {
      await here.stop();
    }
  });
});
