import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

const lines: string[] = [];
let here: TestInstallation;
beforeAll(async () => {
  const bucket = { S3_BUCKET: 'gone', S3_ENDPOINT: 'http://127.0.0.1:9', S3_ACCESS_KEY_ID: 'x', S3_SECRET_ACCESS_KEY: 'y' };
  here = await startTestInstallation({ env: bucket, log: (line) => void lines.push(line) });
});
afterAll(() => here.stop());

it('a line of the log that an activity writes names its task, any other line does not', async () => {
  here.model.script(says('Done.'));
  const task_id = await here.prompt(await here.workflow());
  await here.ended(task_id);
  const line = await until('the line', async () => lines.find((each) => each.startsWith(`The workspace of ${task_id}`)));
  expect(line).toMatch(new RegExp(` \\(task ${task_id}\\)$`));
  here.core.log('Not of a run');
  expect(lines).toContain('Not of a run');
});
