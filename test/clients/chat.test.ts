import { mkdtempSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMAND, commandLine } from '../support/command-line.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
const folder = mkdtempSync(join(tmpdir(), 'perdura-chat-'));
const { start, outcome, perdura, typeInto } = commandLine(folder);
const OF_BOB = { XDG_CONFIG_HOME: join(folder, 'of-bob') };

beforeAll(async () => {
  here = await startTestInstallation();
  expect(await perdura(['login', '--url', here.url, '--token-stdin'], ALICE)).toMatchObject({ code: 0 });
  expect(await perdura(['login', '--url', here.url, '--token-stdin'], BOB, OF_BOB)).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await here?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Creates an agent of Alice with these tools, and a workflow of it whose prompts are turns of threads. */
async function remembering(tools: string[] = [], agent: object = {}) {
  const workflow_id = await here.workflow({ tools, agent, workflow: { remember: 'thread', output_format: 'markdown' } });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { name } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  return { workflow_id, agent_id, name };
}

const threadOf = (printed: string): string => /--thread (\S+)/.exec(printed)![1]!;
const turnsOf = async (thread_id: string): Promise<Record<string, any>[]> =>
  (await here.alice.ok(here.alice.get(`/api/tasks?thread_id=${thread_id}`))).toReversed();

describe('perdura chat without a terminal', () => {
  it('sends each line as a message of one thread, which only its owner continues and lists', async () => {
    const { agent_id, name } = await remembering();
    here.model.script(says('Seventeen.'), says('Nineteen.'), says('Twenty-three.'), says('Twenty-nine.'));
    const talk = await perdura(['chat', name], 'First?\n\nSecond?\n');
    expect(talk).toMatchObject({ code: 0, out: 'Seventeen.\nNineteen.\n' });
    const thread = threadOf(talk.errors);
    const newest = await perdura(['chat', agent_id], 'Third?');
    expect(newest).toMatchObject({ out: 'Twenty-three.\n', errors: expect.stringContaining('Continuing "First?"') });
    expect((await turnsOf(thread)).map(({ prompt, response }) => [prompt, response])).toEqual([
      ['First?', 'Seventeen.'],
      ['Second?', 'Nineteen.'],
      ['Third?', 'Twenty-three.'],
    ]);
    const other = await perdura(['chat', agent_id, '--new'], 'Another?');
    expect(other.out).toBe('Twenty-nine.\n');
    expect(threadOf(other.errors)).not.toBe(thread);

    const listed = await perdura(['chat']);
    expect(listed.out.split('\n').map((line) => line.split(/ {2,}/).at(-1))).toEqual(['TITLE', 'Another?', 'First?', '']);
    expect(await perdura(['chat'], '', OF_BOB)).toMatchObject({ code: 0, out: '' });
    const refused = await perdura(['chat', '--thread', thread], 'Mine?', OF_BOB);
    expect(refused).toMatchObject({ code: 1, out: '', errors: expect.stringMatching(/^perdura chat: .*\(403/) });
    expect(await turnsOf(thread)).toHaveLength(3);
  }, 60_000);

  it('ends with 1 if a turn failed, after the lines that follow it', async () => {
    const { workflow_id } = await remembering();
    here.model.script(fails(401), says('Seven.'));
    const talk = await perdura(['chat', '--workflow', workflow_id], 'First?\nSecond?\n');
    expect(talk).toMatchObject({ code: 1, out: 'Seven.\n', errors: expect.stringContaining('The turn failed: ') });
    expect((await turnsOf(threadOf(talk.errors))).map(({ status }) => status)).toEqual(['failed', 'completed']);
  }, 60_000);

  it('prints each event as a line of JSON for programs', async () => {
    const { agent_id } = await remembering();
    here.model.script(says('Eleven.'));
    const { out } = await perdura(['chat', agent_id, '--json'], 'Count.');
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'message', data: expect.objectContaining({ content: 'Eleven.' }) }),
    );
  }, 60_000);

  it('stops the turn at Ctrl-C, keeps what was written, and sends no further line', async () => {
    const { agent_id } = await remembering();
    here.model.script(hangs('Half a reply'));
    const child = start([...COMMAND, 'chat', agent_id]);
    child.stdin.end('Continue.\nAnd then?\n');
    child.stderr.on('data', async (chunk: Buffer) => {
      if (chunk.includes('→')) child.kill('SIGINT');
    });
    const [task] = await expect
      .poll(async () => here.alice.ok(here.alice.get(`/api/tasks?agent_id=${agent_id}&status=running`)), { timeout: 30_000 })
      .toHaveLength(1)
      .then(() => here.alice.ok(here.alice.get(`/api/tasks?agent_id=${agent_id}`)));
    await here.events(task.id, { enough: (events: any[]) => events.some(({ type }) => type === 'message_delta') } as never);
    child.kill('SIGINT');
    const { code, out, errors } = await outcome(child);
    expect([code, out]).toEqual([130, 'Half a reply\n']);
    expect((await turnsOf(threadOf(errors))).map(({ status }) => status)).toEqual(['halted']);
  }, 60_000);

  it.each([
    [['x', '--thread', 'y'], 'Name only one: an agent, a workflow or a thread'],
    [['--new'], 'Name the agent or the workflow'],
    [['--thread', 'y', '--new'], '--new begins a thread, and --thread continues one'],
  ])('does not accept %j', async (words, sentence) => {
    expect(await perdura(['chat', ...words])).toMatchObject({ code: 2, out: '', errors: expect.stringContaining(sentence) });
  });

  it('names an agent and a workflow that do not exist, or that forget', async () => {
    const [agent, workflow, forgets] = await Promise.all([
      perdura(['chat', 'nobody'], 'x'),
      perdura(['chat', '--workflow', 'Nobody'], 'x'),
      perdura(['chat', '--workflow', await here.workflow()], 'x'),
    ]);
    expect(agent).toMatchObject({ code: 1, errors: expect.stringContaining('no agent with the name "nobody"') });
    expect(workflow).toMatchObject({ code: 1, errors: expect.stringContaining('no workflow with the title "Nobody"') });
    expect(forgets).toMatchObject({ code: 1, errors: expect.stringContaining('remember') });
  });
});
