import { mkdtempSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { COMMAND, commandLine } from '../support/command-line.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { type Answer, asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { MODULES, SERVERS } from '../tools/support.ts';

let here: TestInstallation;
const folder = mkdtempSync(join(tmpdir(), 'perdura-chat-'));
const { start, outcome, perdura, typeInto } = commandLine(folder);
const OF_BOB = { XDG_CONFIG_HOME: join(folder, 'of-bob') };

beforeAll(async () => {
  here = await startTestInstallation({ env: { ALLOW_STDIO_MCP: 'true' } });
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

const CTRL_C = '\u0003';

/** Opens a gate that a scripted answer waits for. */
const gate = () => Promise.withResolvers<void>();

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

  it('prints the answers to its own lines alone', async () => {
    const { workflow_id } = await remembering();
    const open = gate();
    here.model.script(says('Others first.', { until: open.promise }), says('Second.'));
    const first = { prompt: 'Go.' };
    const path = `/api/workflows/${workflow_id}/prompt`;
    const { task_id, thread_id } = await here.alice.ok(here.alice.post(path, first), 201);
    await here.events(task_id, { enough: ({ type }) => type === 'message_delta' });
    const talk = perdura(['chat', '--thread', thread_id], 'And then?');
    await vi.waitUntil(async () => (await turnsOf(thread_id)).length === 2, 30_000);
    open.resolve();
    expect(await talk).toMatchObject({ code: 0, out: 'Second.\n' });
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
    const ended = outcome(child);
    const list = () => here.alice.ok(here.alice.get(`/api/tasks?agent_id=${agent_id}`));
    const task_id = await vi.waitUntil(async () => (await list())[0]?.id, 30_000);
    await here.events(task_id, { enough: ({ type }) => type === 'message_delta' });
    child.kill('SIGINT');
    const { code, out, errors } = await ended;
    expect([code, out]).toEqual([130, 'Half a reply\n']);
    expect((await turnsOf(threadOf(errors))).map(({ status }) => status)).toEqual(['halted']);
  }, 60_000);

  it('names an agent and a workflow that do not exist', async () => {
    const [agent, workflow] = await Promise.all([
      perdura(['chat', 'nobody'], 'x'),
      perdura(['chat', '--workflow', 'Nobody'], 'x'),
    ]);
    expect(agent).toMatchObject({ code: 1, errors: expect.stringContaining('no agent with the name "nobody"') });
    expect(workflow).toMatchObject({ code: 1, errors: expect.stringContaining('no workflow with the title "Nobody"') });
  });
});

/** Creates an agent whose tool needs an approval. */
async function payingWithApproval() {
  const { agent_id } = await remembering(['def pay(amount: int) -> int:\n    return amount\n']);
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const { name: tool } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [tool] }));
  return { agent_id, tool: tool as string };
}

describe('perdura chat in a terminal', () => {
  it('asks for an approval in place, and gives a reason to the model', async () => {
    const { agent_id, tool: name } = await payingWithApproval();
    here.model.script(
      asks({ name, args: { amount: 7 } }),
      says('Not paid.'),
      asks({ name, args: { amount: 11 } }),
      says('Paid.'),
    );
    const { code, screen } = await typeInto(
      ['chat', agent_id],
      [
        ['> ', 'Pay 7.\r'],
        ['follow: ', 'maybe\r'],
        ['follow: ', 'n, ask me first\r'],
        ['Not paid.', ''],
        ['> ', 'Pay 11.\r'],
        ['follow: ', 'y\r'],
        ['Paid.', ''],
        ['> ', CTRL_C],
      ],
    );
    expect([code, screen]).toEqual([
      0,
      [
        'Write a message and press Enter. /help lists what else you can do.',
        '> Pay 7.',
        `? ${name} {"amount":7}`,
        'Allow it? y or n, a reason may follow: maybe',
        'Allow it? y or n, a reason may follow: n, ask me first',
        expect.stringMatching(/^ {2}← .*ask me first/),
        'Not paid.',
        '> Pay 11.',
        `? ${name} {"amount":11}`,
        'Allow it? y or n, a reason may follow: y',
        `  → ${name} {"amount":11}`,
        `  ← ${name} {"result": 11}`,
        'Paid.',
        expect.stringMatching(/^To continue: perdura chat --thread /),
      ],
    ]);
  }, 60_000);

  it('asks for the approval that a turn waits for since earlier', async () => {
    const { agent_id, tool } = await payingWithApproval();
    const thread = await here.alice.ok(here.alice.post('/api/threads', { agent_id }), 201);
    here.model.script(asks({ name: tool, args: { amount: 19 } }), says('Paid.'));
    const sent = await here.alice.ok(here.alice.post(`/api/threads/${thread.id}/messages`, { message: 'Pay 19.' }), 202);
    const task = () => here.alice.ok(here.alice.get(`/api/tasks/${sent.task_id}`));
    await vi.waitUntil(async () => (await task()).status === 'waiting', 30_000);
    const { screen } = await typeInto(
      ['chat', '--thread', thread.id],
      [
        ['follow: ', 'y\r'],
        ['Paid.', ''],
        ['> ', CTRL_C],
      ],
    );
    expect(screen).toEqual(expect.arrayContaining([`  → ${tool} {"amount":19}`, 'Paid.']));
  }, 60_000);

  it('takes a line that was begun before an approval is asked for as a message, never as the decision', async () => {
    const { agent_id, tool } = await payingWithApproval();
    const open = gate();
    const paying: Answer = async (...call) => {
      await open.promise;
      await asks({ name: tool, args: { amount: 17 } })(...call);
    };
    here.model.script(paying, says('Not paid.'));
    const asked = here.model.requests.length;
    const { screen } = await typeInto(
      ['chat', agent_id],
      [
        ['> ', 'Pay 17.\r'],
        [
          'Pay 17.',
          async () => {
            await vi.waitUntil(() => here.model.requests.length > asked, 30_000);
            return 'yes';
          },
        ],
        [
          'yes',
          async () => {
            open.resolve();
            const list = () => here.alice.ok(here.alice.get(`/api/tasks?agent_id=${agent_id}`));
            await vi.waitUntil(async () => (await list())[0].status === 'waiting', 30_000);
            return ', please\r';
          },
        ],
        ['follow: ', 'n\r'],
        ['Not paid.', ''],
        ['> ', CTRL_C],
      ],
    );
    expect(screen).toContain('  ↳ sent: the turn reads it at its next step');
    expect(screen.filter((line) => /^[>?A]| [→←] | step 2 /.test(line))).toEqual([
      '> Pay 17.',
      '> yes, please',
      expect.stringMatching(/^\? .*17/),
      'Allow it? y or n, a reason may follow: n',
      expect.stringContaining('Denied by a person'),
      '  ↳ step 2 reads: yes, please',
    ]);
  }, 60_000);

  it('asks the question of a tool in place', async () => {
    const server = {
      ...{ name: here.unique('travel'), transport_type: 'stdio', paths: [MODULES, process.execPath, SERVERS] },
      connection_config: { command: process.execPath, args: [`${SERVERS}/stateless.mjs`, 'only'] },
    };
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', server));
    const { agent_id } = await remembering([], { mcp_server_ids: [id], required_mcp_servers: [id] });
    here.model.script(asks({ name: 'book' }), says('Booked.'));
    const { screen } = await typeInto(
      ['chat', agent_id],
      [
        ['> ', 'Book it.\r'],
        ['email: ', 'ada\r'],
        ['email address. email: ', 'ada@example.com\r'],
        ['Booked.', ''],
        ['> ', CTRL_C],
      ],
    );
    expect(screen.slice(1, -1)).toEqual([
      '> Book it.',
      '  → book {}',
      `? ${server.name} asks: Who travels?`,
      '    email (string; required)',
      '    /decline refuses to answer',
      'email: ada',
      'Must be an email address. email: ada@example.com',
      '  ← book {"email":"ada@example.com"}',
      'Booked.',
    ]);
  }, 60_000);

  it('sends what is typed while a turn works to that turn', async () => {
    const { agent_id } = await remembering();
    const open = gate();
    here.model.script(says('Counting all.', { until: open.promise }), says('Thirteen sheep.'));
    const { code, screen } = await typeInto(
      ['chat', agent_id],
      [
        ['> ', 'Count.\r'],
        ['Counting ', 'Only the sheep.\r'],
        [
          'sent: ',
          async () => {
            open.resolve();
            return '';
          },
        ],
        ['Thirteen sheep.', ''],
        ['> ', '/quit\r'],
      ],
    );
    expect([code, screen.slice(1, -1)]).toEqual([
      0,
      [
        '> Count.',
        'Counting',
        '> Only the sheep.',
        '  ↳ sent: the turn reads it at its next step',
        'all.',
        '  ↳ step 2 reads: Only the sheep.',
        'Thirteen sheep.',
        '> /quit',
      ],
    ]);
    const [turn, ...more] = await turnsOf(threadOf(screen.at(-1)!));
    expect([turn, more]).toEqual([expect.objectContaining({ status: 'completed', steps: 2 }), []]);
  }, 60_000);

  it('holds the answer back while a line is typed; a line that ends after the turn begins the next one', async () => {
    const { agent_id } = await remembering();
    const open = gate();
    here.model.script(says('Half whole.', { until: open.promise }), says('Second.'));
    const { screen } = await typeInto(
      ['chat', agent_id],
      [
        ['> ', 'Go.\r'],
        ['Half ', 'And th'],
        [
          'And th',
          async () => {
            open.resolve();
            const [task] = (await here.alice.ok(here.alice.get(`/api/tasks?agent_id=${agent_id}`))) as any;
            await here.ended(task.id);
            return 'en?\r';
          },
        ],
        ['Second.', ''],
        ['> ', CTRL_C],
      ],
    );
    // The terminal may learn that the turn has ended before or after it sends the message.
    const shown = screen.slice(1, -1).filter((line) => !line.includes('↳'));
    expect(shown).toEqual(['> Go.', 'Half', '> And then?', 'whole.', 'Second.']);
    expect((await turnsOf(threadOf(screen.at(-1)!))).map(({ prompt }) => prompt)).toEqual(['Go.', 'And then?']);
  }, 60_000);

  it('stops the turn at Ctrl-C, and leaves at the next one when nothing is in progress', async () => {
    const { agent_id } = await remembering();
    here.model.script(hangs('Half'), says('Whole.'), says('Thrice.'));
    const { code, screen } = await typeInto(
      ['chat', agent_id],
      [
        ['> ', 'Go.\r'],
        ['Half', CTRL_C],
        ['was stopped', ''],
        ['> ', 'Again?\r'],
        ['Whole.', ''],
        ['> ', `Never mind${CTRL_C}Twice?\r`],
        ['Thrice.', ''],
        ['> ', CTRL_C],
      ],
    );
    expect([code, screen.slice(1, -1)]).toEqual([
      0,
      [
        '> Go.',
        'Half',
        'Stopping …',
        'The turn was stopped; what was written stays in the thread',
        '> Again?',
        'Whole.',
        '> Twice?',
        'Thrice.',
      ],
    ]);
    expect((await turnsOf(threadOf(screen.at(-1)!))).map(({ status }) => status)).toEqual(['halted', 'completed', 'completed']);
  }, 60_000);

  it('leaves a turn at once if Ctrl-C is pressed twice', async () => {
    const { agent_id } = await remembering();
    here.model.script(hangs('Half'));
    const { code, screen } = await typeInto(
      ['chat', agent_id],
      [
        ['> ', 'Go.\r'],
        ['Half', CTRL_C + CTRL_C],
      ],
    );
    expect([code, screen]).toEqual([130, expect.arrayContaining(['> Go.', 'Half', 'Stopping …'])]);
  }, 60_000);

  it('sends files, and knows its other commands', async () => {
    const { agent_id } = await remembering();
    await writeFile(join(folder, 'list.txt'), '17 eggs');
    here.model.script(says('Eggs.'), fails(401));
    const { screen } = await typeInto(
      ['chat', agent_id],
      [
        ['> ', '/file nothing.txt\r'],
        ['There is no file nothing.txt', '/fiel list.txt\r'],
        ['did you mean /file?', '/file "list.txt"\r'],
        ['list.txt (text/plain', 'What is in it?\r'],
        ['Eggs.', '/threads\r'],
        ['TITLE', '/help\r'],
        ['/quit ', ''],
        ['> ', '//quit is a word?\r'],
        ['The turn failed', ''],
        ['> ', '\u0004'],
      ],
    );
    expect(screen).toContain('  with the next message: list.txt (text/plain, 7 bytes)');
    const turns = await turnsOf(threadOf(screen.at(-1)!));
    expect(turns.map(({ prompt, attachments }) => [prompt, attachments.map(({ name }: any) => name)])).toEqual([
      ['What is in it?', ['list.txt']],
      ['/quit is a word?', []],
    ]);
  }, 60_000);

  it('continues after a lost connection, and prints nothing twice', async () => {
    const { agent_id } = await remembering();
    const proxy = await startDroppingProxy(here.url);
    onTestFinished(() => proxy.stop());
    const open = gate();
    here.model.script(says('One two three four.', { until: open.promise }));
    const { code, screen } = await typeInto(
      ['chat', agent_id],
      [
        ['> ', 'Count.\r'],
        [
          'One ',
          async () => {
            proxy.drop();
            open.resolve();
            return '';
          },
        ],
        ['four.', ''],
        ['> ', CTRL_C],
      ],
      { PERDURA_API_URL: proxy.url, PERDURA_API_TOKEN: ALICE },
    );
    expect([code, screen.slice(1, -1)]).toEqual([0, ['> Count.', 'One two three four.']]);
    expect(proxy.counts().opened).toBeGreaterThan(1);
  }, 60_000);

  it('follows the turn that is in progress already', async () => {
    const { agent_id } = await remembering();
    const thread = await here.alice.ok(here.alice.post('/api/threads', { agent_id, title: 'Begun' }), 201);
    const open = gate();
    here.model.script(says('Half whole.', { until: open.promise }));
    await here.alice.ok(here.alice.post(`/api/threads/${thread.id}/messages`, { message: 'Go.' }), 202);
    const { screen } = await typeInto(
      ['chat', '--thread', thread.id],
      [
        [
          'Half ',
          async () => {
            open.resolve();
            return '';
          },
        ],
        ['whole.', ''],
        ['> ', CTRL_C],
      ],
    );
    expect(screen.slice(0, -1)).toEqual([
      'Continuing "Begun"; --new begins another thread',
      'Write a message and press Enter. /help lists what else you can do.',
      'Half whole.',
    ]);
  }, 60_000);
});

describe('perdura steer', () => {
  it.each([
    ['in a thread', { remember: 'thread' }],
    ['without a thread', {}],
  ])(
    'sends a message to a run %s, and waits until it was read',
    async (_, settings) => {
      const workflow_id = await here.workflow({ workflow: { ...settings, output_format: 'markdown' } });
      const open = gate();
      here.model.script(says('Counting all.', { until: open.promise }), says('Thirteen sheep.'));
      const task_id = await here.prompt(workflow_id, 'Count.');
      await here.events(task_id, { enough: ({ type }) => type === 'message_delta' });
      const refused = await perdura(['steer', task_id, 'Mine.'], '', OF_BOB);
      expect(refused).toMatchObject({ code: 1, out: '', errors: expect.stringMatching(/^perdura steer: .*\(403/) });
      const sent = await perdura(['steer', task_id, '-'], 'Only the sheep.');
      expect(sent.out).toMatch(new RegExp(`^Message \\S+ waits for the run ${task_id}, which reads it at its next step\n$`));
      const waiting = perdura(['steer', task_id, 'No lambs.', '--wait', '--json']);
      await vi.waitUntil(
        async () => (await here.sql('SELECT 1 FROM thread_messages WHERE task_id = $1', task_id)).length === 2,
        30_000,
      );
      open.resolve();
      const { code, out } = await waiting;
      expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ state: 'steered', task_id, step: 2 })]);
      expect(await here.ended(task_id)).toMatchObject({ response: 'Thirteen sheep.' });
      expect(await perdura(['steer', task_id, 'More.'])).toMatchObject({
        code: 1,
        errors: expect.stringContaining('has ended: it is completed'),
      });
    },
    60_000,
  );

  it('ends with 1 if the run is stopped before it reads the message', async () => {
    const workflow_id = await here.workflow();
    here.model.script(hangs('Half'));
    const task_id = await here.prompt(workflow_id, 'Count.');
    await here.events(task_id, { enough: ({ type }) => type === 'message_delta' });
    const waiting = perdura(['steer', task_id, 'Continue.', '--wait']);
    await vi.waitUntil(
      async () => (await here.sql('SELECT 1 FROM thread_messages WHERE task_id = $1', task_id)).length === 1,
      30_000,
    );
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    expect(await waiting).toMatchObject({ code: 1, out: expect.stringMatching(/^Message \S+ was refused: /) });
  }, 60_000);

  it('is not for a run that has not begun', async () => {
    const workflow_id = await here.workflow();
    here.model.script(hangs('Half'));
    const first = await here.prompt(workflow_id, 'First.');
    const second = await here.prompt(workflow_id, 'Second.');
    expect(await perdura(['steer', second, 'Hello.'])).toMatchObject({
      code: 1,
      errors: expect.stringContaining('has not begun'),
    });
    for (const id of [second, first]) await here.alice.post(`/api/tasks/${id}/stop`);
  }, 60_000);
});
