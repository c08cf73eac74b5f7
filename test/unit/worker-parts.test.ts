import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isOnThisMachine, startRelay } from '../../src/temporal/client/engine-relay.ts';
import { withPageLink } from '../../src/temporal/client/page-links.ts';
import { evaluationPriority } from '../../src/temporal/client/priority.ts';
import { describeServed, describeUnserved } from '../../src/temporal/client/queues.ts';
import { attributeValues, runTexts } from '../../src/temporal/client/run-labels.ts';
import { queueOfRole, ROLES, toRunRules } from '../../src/temporal/names.ts';
import { countFittingSlots, countSlots } from '../../src/temporal/worker/slots.ts';
import { selectRoles } from '../../src/temporal/worker/worker.ts';

describe('the queues of a worker', () => {
  it('are that of the installation for runs, and one for each other role', () => {
    expect(ROLES.map((role) => queueOfRole('perdura', role))).toEqual(['perdura', 'perdura-models', 'perdura-tools']);
  });

  it.each([
    [ROLES, false, ['runs']],
    [ROLES, true, ROLES],
    [['models'], false, ['models']],
    [['runs', 'tools'], false, ['runs', 'tools']],
  ] as const)('of %j, if runs send work to roles (%s), are those of %j', (roles, role_queues, polled) => {
    expect(selectRoles(roles, { role_queues })).toEqual(polled);
  });

  const queue = (role: (typeof ROLES)[number], workers: number) => ({ name: queueOfRole('q', role), role, workers });

  it('that nobody serves are named, with what serves them', () => {
    expect(describeUnserved([queue('runs', 1), queue('models', 2)])).toBeNull();
    expect(describeUnserved([queue('runs', 0)])).toBe('None takes work from q: runs wait until one is started (perdura worker)');
    expect(describeUnserved([queue('runs', 1), queue('models', 0), queue('tools', 0)])).toBe(
      'None takes work from q-models, q-tools: runs wait until one is started (perdura worker --role models, perdura worker --role tools)',
    );
    expect(describeServed([queue('runs', 3), queue('tools', 1)])).toBe('3 take work from q, 1 takes work from q-tools');
  });
});

describe('the slots of a worker', () => {
  it.each([
    [256, 100],
    [800, 100],
    [808, 101],
    [4_096, 512],
    [8_000, 1_000],
    [64_000, 1_000],
  ])('with a heap of %i MiB are %i', (mib, slots) => {
    expect(countFittingSlots(mib * 1024 ** 2)).toBe(slots);
  });

  it('are shared by its queues, unless their number is set', () => {
    expect([countSlots(7, 1), countSlots(7, 3)]).toEqual([7, 7]);
    expect(countSlots(undefined, 3)).toBe(Math.ceil(countSlots(undefined, 1) / 3));
  });
});

describe('what the engine shows of a run', () => {
  const labels = {
    ...{ owner: 'ada', principal: 'github:7', trigger: 'prompt', agent: 'Scout', workflow: 'Look', workflow_id: 'w', model: 'm' },
  };

  it('is its workflow, agent and owner, with a link to its page if the service has an address', () => {
    const { staticSummary, staticDetails } = runTexts({ task_id: 't' }, labels, 'https://perdura.example/base//');
    expect(staticSummary).toBe('Look · Scout');
    expect(staticDetails).toBe('Task t of ada\n\n[Open in Perdura](https://perdura.example/base/dashboard/tasks/t)');
    expect(runTexts({ task_id: 't' }, labels, null).staticDetails).toBe('Task t of ada');
    expect(withPageLink('x', 'http://a', 'y')).toBe('x\n\n[Open in Perdura](http://a/dashboard/y)');
  });

  it('can be searched for by each of its names, which are never too long for the engine', () => {
    expect(attributeValues(labels)).toEqual({
      ...{ PerduraOwner: 'ada', PerduraAgent: 'Scout', PerduraWorkflow: 'Look', PerduraWorkflowId: 'w', PerduraModel: 'm' },
      PerduraStatus: 'running',
    });
    expect(attributeValues({ ...labels, model: null })).not.toHaveProperty('PerduraModel');
    const long = { owner: 'é'.repeat(5_000), agent: '"'.repeat(5_000), workflow: '😀'.repeat(5_000) };
    const sizes = Object.values(attributeValues({ ...labels, ...long })).map((text) => Buffer.byteLength(JSON.stringify(text)));
    expect(Math.max(...sizes)).toBeLessThan(2_048);
    const { staticSummary, staticDetails } = runTexts({ task_id: 't' }, { ...labels, ...long }, null);
    for (const text of [staticSummary, staticDetails]) expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(400);
  });

  it('is that nobody waits for an evaluation', () => {
    expect(evaluationPriority('github:7')).toEqual({ fairnessKey: 'github:7', priorityKey: 4 });
  });
});

it.each([
  [
    { auto_memory: true, bypass_memory: false },
    { max_turns: 7, auto_memory: true },
  ],
  [{ auto_memory: true, bypass_memory: true }, { max_turns: 7 }],
  [{ auto_memory: false, bypass_memory: false }, { max_turns: 7 }],
])('a run with %j is started with %j', (memory, rules) => {
  expect(toRunRules({ max_turns: 7, ...memory } as never)).toEqual(rules);
});

it.each([
  ['localhost:7233', true],
  ['127.0.0.1:7233', true],
  ['127.9.9.9', true],
  ['[::1]:7233', true],
  ['LOCALHOST', true],
  ['localhost.example:7233', false],
  ['127.example.com:7233', false],
  ['128.0.0.1:7233', false],
  ['temporal:7233', false],
])('an engine at %s is on this machine: %s', (address, here) => {
  expect(isOnThisMachine(address)).toBe(here);
});

describe('the relay to an engine', () => {
  /** A server that returns what it gets, and a relay to it. */
  async function relayed() {
    const echo = (await import('node:net'))
      .createServer((socket) => socket.on('error', () => {}).pipe(socket))
      .listen(0, '127.0.0.1');
    await once(echo, 'listening');
    const relay = await startRelay(`127.0.0.1:${(echo.address() as AddressInfo).port}`);
    return { relay, stop: async () => void (await Promise.all([relay.close(), once(echo.close(), 'close')])) };
  }
  /** Asks the relay for a connection; returns the status and the socket. */
  async function open({ targetHost, basicAuth }: Awaited<ReturnType<typeof startRelay>>['proxy'], password = basicAuth.password) {
    const [host, port] = targetHost.split(':');
    const authorization = `Basic ${Buffer.from(`${basicAuth.username}:${password}`).toString('base64')}`;
    const asked = request({
      host,
      port,
      method: 'CONNECT',
      path: 'ignored:1',
      headers: { 'proxy-authorization': authorization },
    });
    asked.end();
    const [{ statusCode }, socket] = (await once(asked, 'connect')) as [{ statusCode: number }, Socket];
    socket.on('error', () => {});
    return { statusCode, socket };
  }

  it('passes bytes on for those who know its password, whatever address they name, until it is dropped', async () => {
    const { relay, stop } = await relayed();
    const { statusCode, socket } = await open(relay.proxy);
    expect(statusCode).toBe(200);
    socket.write('there and back');
    expect(String((await once(socket, 'data'))[0])).toBe('there and back');
    const closed = once(socket, 'close');
    relay.drop();
    await closed;
    expect((await open(relay.proxy)).statusCode).toBe(200);
    await stop();
  });

  it('takes no more from one end than the other takes, and loses none of it', async () => {
    const { relay, stop } = await relayed();
    const [{ socket }, { socket: other }] = [await open(relay.proxy), await open(relay.proxy)];
    const most_bytes = 64 * 1_024 * 1_024;
    socket.write(Buffer.alloc(most_bytes));
    // Nothing is read of what comes back, so the rest must stay with the sender.
    for (let turn = 0; turn < 1_000 && socket.writableLength > 0; turn += 1) {
      other.write('x');
      await once(other, 'data');
    }
    expect(socket.writableLength).toBeGreaterThan(0);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    await expect.poll(() => bytes, { timeout: 20_000 }).toBe(most_bytes);
    await stop();
  });

  it('refuses everyone else', async () => {
    const { relay, stop } = await relayed();
    expect((await open(relay.proxy, 'guessed')).statusCode).toBe(407);
    expect((await fetch(`http://${relay.proxy.targetHost}/`)).status).toBe(405);
    await stop();
  });

  it('keeps the reason why the address cannot be reached', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await once(closed.close(), 'close');
    const relay = await startRelay(`127.0.0.1:${port}`);
    await open(relay.proxy).catch(() => {});
    await expect.poll(() => relay.failure()?.message).toContain(`ECONNREFUSED 127.0.0.1:${port}`);
    await relay.close();
  });
});
