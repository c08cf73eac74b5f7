import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toAnswer } from '../../../src/toolrunner/answer.ts';
import { createFrameReader } from '../../../src/toolrunner/frame.ts';
import { type Bench, CONFINED, openBench } from '../support.ts';

/** Numbers that look random and are the same every time. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // Its low bits repeat after few steps.
    return Math.floor((state / 2 ** 32) * below);
  };
}

const HEADER = { size: 0, timeout_ms: 500, workspace: null, network: false, proxy_port: 0 };
const BODY = { name: 'tool', source: 'def tool(): return 1', arguments: {}, env: {} };

/** A job on the wire, right or wrong. */
function wire(header: object, body: object): Buffer {
  const bytes = Buffer.from(JSON.stringify(body));
  return Buffer.concat([Buffer.from(JSON.stringify({ ...HEADER, size: bytes.length, ...header }).padEnd(1024)), bytes]);
}

/** Jobs that are nearly right, and bytes that are nothing. */
function wrongJobs(): Buffer[] {
  const pick = numbers(7);
  const odd = [null, 1, -1, 1e99, '', '\0', '../x', '/etc', '..', [], {}, true, 'x'.repeat(70_000), '\ud800'];
  const broken = [
    ...Object.keys(HEADER).flatMap((key) => odd.map((value) => wire({ [key]: value }, BODY))),
    ...Object.keys(BODY).flatMap((key) => odd.map((value) => wire({}, { ...BODY, [key]: value }))),
    ...odd.map((value) => wire({}, [value])),
  ];
  const right = wire({}, BODY);
  const cut = Array.from({ length: 20 }, () => right.subarray(0, pick(right.length)));
  const flipped = Array.from({ length: 60 }, () => {
    const bytes = Buffer.from(right);
    bytes[pick(bytes.length)] = pick(256);
    return bytes;
  });
  const noise = Array.from({ length: 20 }, () => Buffer.from(Array.from({ length: pick(400) }, () => pick(256))));
  const deep = ['['.repeat(50_000), '{"a":'.repeat(20_000), '1'.repeat(20_000), ' '.repeat(5_000), '\n\n\n'].map((it) =>
    Buffer.from(it),
  );
  return [...broken, ...cut, ...deep, ...flipped, ...noise, Buffer.concat([right, right])];
}

function send(path: string, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const said: Buffer[] = [];
    const timer = setTimeout(() => socket.destroy(), 1_500);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => said.push(chunk));
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Buffer.concat(said));
    });
    socket.write(bytes);
  });
}

describe.each(Object.entries(CONFINED))('the protocol of the tier %s', (_, tier) => {
  let scratch_dir: string;
  let bench: Bench;
  beforeAll(async () => {
    scratch_dir = mkdtempSync(join(tmpdir(), 'fuzzed-'));
    await chmod(scratch_dir, 0o711);
    bench = await openBench({ ...tier, scratch_dir });
  });
  afterAll(async () => {
    await bench.runner.close();
    rmSync(scratch_dir, { recursive: true });
  });
  const socket = () => {
    const [dir = ''] = readdirSync(scratch_dir);
    return join(scratch_dir, dir, readdirSync(join(scratch_dir, dir)).find((name) => name.startsWith('zygote-')) ?? '');
  };

  it('survives arbitrary input on its socket', async () => {
    const path = socket();
    const jobs = wrongJobs();
    for (let at = 0; at < jobs.length; at += 16) {
      const said = await Promise.all(jobs.slice(at, at + 16).map((job) => send(path, job)));
      for (const bytes of said)
        expect(bytes.length <= 1 || parse(bytes.subarray(1)) !== null, bytes.toString().slice(0, 200)).toBe(true);
    }
    expect(await bench.value('def tool(): return "unharmed"')).toBe('unharmed');
  }, 60_000);

  it('survives connections that send nothing or close', async () => {
    const path = socket();
    const silent = Array.from({ length: 20 }, () => connect(path).on('error', () => {}));
    await Promise.all(Array.from({ length: 20 }, () => send(path, Buffer.alloc(0))));
    expect(await bench.value('def tool(): return "unharmed"')).toBe('unharmed');
    for (const one of silent) one.destroy();
    expect(await bench.value('def tool(): return "unharmed"')).toBe('unharmed');
  }, 30_000);

  it('carries whatever bytes a tool replies with, and takes only JSON objects for results', async () => {
    const source = `
import os, random
def tool(seed):
    r = random.Random(seed)
    reply = r.choice([b"R", b"E", b"", b"RR", b"\\x00"]) + bytes(r.choice(b'{}[]":,0123456789.eE+-\\\\ntrufalse\\x00\\xff\\xc3') for _ in range(r.randrange(40)))
    for fd in range(3, 20):
        try: os.write(fd, reply + b"\\n")
        except OSError: pass
    os._exit(0)`;
    let refused = 0;
    for (let seed = 0; seed < 60; seed += 1) {
      const answer = await bench.call(source, { arguments: { seed } });
      expect(JSON.parse(answer.result), `seed ${seed}`).toBeTypeOf('object');
      if (answer.error === null) continue;
      refused += 1;
      expect(JSON.parse(answer.result)).toEqual({ error: answer.error });
    }
    expect(refused).toBeGreaterThan(0);
  }, 30_000);
});

describe('frames', () => {
  it('are judged, never trusted', () => {
    const pick = numbers(11);
    const text = Buffer.from('{"a": "\\u0000 \\ud800 \\ud83d\\ude00"}');
    const head = {
      kind: 'returned',
      message: '',
      exit: null,
      sizes: [text.length, 1, 0],
      stdout_bytes: 1,
      stderr_bytes: 0,
    };
    const sound = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), text, Buffer.from('a')]);
    expect(toAnswer(parse(sound)!, {}, 7)).toMatchObject({
      result: '{"a": "\ufffd \ufffd \\ud83d\\ude00"}',
      stdout: 'a',
      duration_ms: 7,
    });
    let judged = 0;
    for (let round = 0; round < 3_000; round += 1) {
      const bytes = Buffer.from(sound);
      for (let hits = 0; hits <= pick(3); hits += 1) bytes[pick(bytes.length)] = pick(256);
      const frame = parse(bytes);
      if (!frame) continue;
      judged += 1;
      expect(() => JSON.parse(toAnswer(frame, { KEY: 'secret-value' }, 1).result)).not.toThrow();
    }
    expect(judged).toBeGreaterThan(100);
  });
});

function parse(bytes: Buffer) {
  const reader = createFrameReader();
  return reader.add(bytes) ? reader.frame() : null;
}
