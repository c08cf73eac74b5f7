import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolRunnerOptions } from '../../src/toolrunner/index.ts';
import { type Bench, eventually, openBench, processesWith } from './support.ts';

/** What a call gives a tool, and what it makes of its end. */
export function testCalls(tiers: Record<string, ToolRunnerOptions>): void {
  describe.each(Object.entries(tiers))('a call in the tier %s', (tier, options) => {
    let bench: Bench;
    beforeAll(async () => {
      bench = await openBench({ ...options, timeout_ms: 4_000 });
    });
    afterAll(() => bench.runner.close());

    it('says which tier it runs in', () => {
      expect(bench.runner.isolation).toBe(tier.split(' ')[0]);
    });

    it.each([
      ['a dict as is', 'def tool(): return {"a": [1, None], "ä": "😀"}', '{"a": [1, null], "ä": "😀"}'],
      ['a dict with a key error as a success', 'def tool(): return {"error": "mine"}', '{"error": "mine"}'],
      ['an empty dict', 'def tool(): return {}', '{}'],
      ['a number under result', 'def tool(): return 3', '{"result": 3}'],
      ['None under result', 'def tool(): pass', '{"result": null}'],
      ['a tuple as a list', 'def tool(): return (1, "b")', '{"result": [1, "b"]}'],
      ['a number beyond 2**53 exactly', 'def tool(): return 2**80', '{"result": 1208925819614629174706176}'],
      [
        'the value of an async function',
        'import asyncio\nasync def tool():\n await asyncio.sleep(0.01)\n return {"ok": True}',
        '{"ok": true}',
      ],
      [
        'the value of a coroutine a plain function returns',
        'def tool():\n async def inner(): return 7\n return inner()',
        '{"result": 7}',
      ],
      [
        'what asyncio.run gave inside a plain function',
        'import asyncio\ndef tool():\n async def inner(): return 8\n return asyncio.run(inner())',
        '{"result": 8}',
      ],
      ['a source with a byte order mark and CRLF', '\ufeffdef tool():\r\n    return 1\r\n', '{"result": 1}'],
      [
        'NUL and lone surrogates replaced, since no database holds them',
        'def tool(): return "a\\x00b\\\\u0000" + chr(0xd800)',
        '{"result": "a\ufffdb\\\\u0000?"}',
      ],
    ])('returns %s', async (_, source, result) => {
      expect(await bench.call(source)).toMatchObject({ result, error: null });
    });

    it.each([
      ['the message of an exception', 'def tool(): raise ValueError("bad thing")', 'bad thing'],
      ['the class of an exception without a message', 'def tool(): raise KeyboardInterrupt()', 'KeyboardInterrupt'],
      [
        'the class of an exception whose message raises',
        'class E(Exception):\n def __str__(self): raise E()\ndef tool(): raise E()',
        'E',
      ],
      ['sys.exit', 'import sys\ndef tool(): sys.exit(3)', 'tool called sys.exit(3)'],
      [
        'an exit behind Python’s back',
        'import os\ndef tool(): os._exit(3)',
        'the tool process ended without a result (exit code 3)',
      ],
      ['a crash', 'import os\ndef tool(): os.abort()', 'the tool process was ended by signal 6'],
      ['an exception while the module loads', 'raise RuntimeError("at load")\ndef tool(): pass', 'at load'],
      ['the end of input', 'def tool(): return input()', 'EOF when reading a line'],
      ['unbounded recursion', 'def tool(): return tool()', 'maximum recursion depth exceeded'],
    ])('reports %s', async (_, source, error) => {
      const answer = await bench.call(source);
      expect(answer.error).toBe(error);
      expect(JSON.parse(answer.result)).toEqual({ error });
    });

    it.each([
      ['set', 'def tool(): return {1}'],
      ['datetime', 'import datetime\ndef tool(): return {"at": datetime.datetime.now()}'],
      ['bytes', 'def tool(): return [b"x"]'],
      ['generator', 'def tool(): yield 1'],
      ['float', 'def tool(): return float("nan")'],
      ['dict', 'def tool():\n a = {}\n a["a"] = a\n return a'],
    ])('names the type when a %s cannot be JSON', async (type, source) => {
      expect((await bench.call(source)).error).toMatch(new RegExp(`not JSON-serialisable.*|${type}`));
      expect((await bench.call(source)).error).toContain(type);
    });

    it('hands over arguments, positional-only ones included, and reports wrong ones', async () => {
      expect(await bench.value('def tool(a, /, b, *, c=1): return [a, b, c]', { arguments: { a: 1, b: 2, c: 3 } })).toEqual([
        1, 2, 3,
      ]);
      expect((await bench.call('def tool(a): pass', { arguments: { b: 1 } })).error).toContain("unexpected keyword argument 'b'");
    });

    it('captures what is printed apart from the result, traceback included', async () => {
      const answer = await bench.call(
        'import os, sys\ndef tool():\n print("out"); os.write(2, b"err\\n"); raise ValueError("x")',
      );
      expect(answer).toMatchObject({ result: '{"error":"x"}', stdout: 'out\n' });
      expect(answer.stderr).toMatch(/^err\nTraceback .*<tool tool>", line 3/s);
      expect(answer.stderr).not.toContain('runtime.py');
    });

    it('keeps the first 64 KiB of endless output and the result', async () => {
      const answer = await bench.call('def tool():\n for _ in range(1000): print("x" * 100_000)\n return 1');
      expect(answer).toMatchObject({ result: '{"result": 1}', error: null });
      expect(answer.stdout).toHaveLength(65_536);
    });

    it('keeps what was printed when the tool crashes', async () => {
      expect((await bench.call('import os\ndef tool():\n print("before"); os.abort()')).stdout).toBe('before\n');
    });

    it('is measured by the clock: no shorter than the tool saw, no longer than the caller waited', async () => {
      const source =
        'import time\ndef tool():\n began = time.monotonic()\n time.sleep(0.2)\n return (time.monotonic() - began) * 1000';
      const began = performance.now();
      const { result, duration_ms } = await bench.call(source);
      const waited_ms = performance.now() - began;
      const seen_ms = (JSON.parse(result) as { result: number }).result;
      expect(seen_ms).toBeGreaterThanOrEqual(200);
      expect(duration_ms).toBeGreaterThanOrEqual(Math.floor(seen_ms));
      expect(duration_ms).toBeLessThanOrEqual(Math.ceil(waited_ms));
    });

    it('refuses a result beyond 1 MiB', async () => {
      expect((await bench.call('def tool(): return "x" * 1_048_577')).error).toBe('the result is larger than 1048576 bytes');
      expect((await bench.call('def tool(): return "x" * 10_000_000')).error).toBe('the result is larger than 1048576 bytes');
      expect((await bench.call('def tool(): return "x" * 1_000_000')).error).toBeNull();
    });

    it('does not wait for threads, exit handlers or background tasks', async () => {
      const source =
        'import atexit, threading, time\ndef tool():\n atexit.register(time.sleep, 3600)\n threading.Thread(target=time.sleep, args=(3600,)).start()\n return 1';
      expect(await bench.value(source)).toBe(1);
    });

    it('ends every process the tool started, also those in another session', async () => {
      const mark = `${Math.random()}`.slice(2);
      const source = `import subprocess, sys\ndef tool():\n for new in (True, False): subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60) # ${mark}"], start_new_session=new)\n return 1`;
      expect(await bench.value(source)).toBe(1);
      expect(await eventually(() => processesWith(mark).length === 0)).toBe(true);
    });

    it('gives a tool its variables, its call key and nothing of the service', async () => {
      process.env.PERDURA_TEST_LEAK = 'leaked';
      const env = (await bench.value('import os\ndef tool(): return {"env": dict(os.environ)}', { env: { API_KEY: 'abc' } })) as {
        env: object;
      };
      delete process.env.PERDURA_TEST_LEAK;
      expect(env.env).toMatchObject({
        API_KEY: 'abc',
        PERDURA_CALL_KEY: 'task:call',
        PATH: expect.any(String),
        HOME: expect.any(String),
      });
      expect(
        Object.keys(env.env).filter(
          (name) =>
            ![
              'API_KEY',
              'PERDURA_CALL_KEY',
              'PATH',
              'LANG',
              'HOME',
              'TMPDIR',
              'OMP_NUM_THREADS',
              'OPENBLAS_NUM_THREADS',
            ].includes(name),
        ),
      ).toEqual([]);
    });

    it("has a tool's clock show the time of its TZ", async () => {
      const source = 'import time\ndef tool(): return time.localtime(0).tm_hour';
      expect(await bench.value(source, { env: { TZ: 'UTC-9' } })).toBe(9);
    });

    it.each(['stdout', 'stderr'] as const)('redacts a secret that the limit of %s cuts', async (stream) => {
      const source = `import os, sys\ndef tool(): sys.${stream}.write("x" * 65_531 + os.environ["KEY"])`;
      const answer = await bench.call(source, { env: { KEY: 'abcdefghij' } });
      expect(answer[stream].slice(0, 65_531)).toBe('x'.repeat(65_531));
      expect(answer[stream].slice(65_531)).toBe('[redacted]');
    });

    it('redacts a secret that is echoed, in every field and spelling', async () => {
      const env = { KEY: 'pa"ss/w\\örd-1' };
      const source =
        'import os, sys, json, base64\ndef tool():\n s = os.environ["KEY"]; print(s); print(s, file=sys.stderr)\n return {"plain": s, s: 1, "b": base64.b64encode(s.encode()).decode()}';
      const answer = await bench.call(source, { env });
      expect(JSON.parse(answer.result)).toEqual({ plain: '[redacted]', '[redacted]': 1, b: '[redacted]' });
      expect([answer.stdout, answer.stderr]).toEqual(['[redacted]\n', '[redacted]\n']);
      expect((await bench.call('import os\ndef tool(): raise ValueError("no " + os.environ["KEY"])', { env })).error).toBe(
        'no [redacted]',
      );
    });

    it('starts every call afresh', async () => {
      const source =
        'import json, os\ndef tool():\n seen = [hasattr(json, "mark"), os.path.exists("mark"), "MARK" in os.environ]\n json.mark = 1; open("mark", "w").close(); os.environ["MARK"] = "1"\n return seen';
      for (let round = 0; round < 3; round += 1) expect(await bench.value(source)).toEqual([false, false, false]);
    });

    it('rejects with the reason of an abort and leaves no process', async () => {
      const mark = `${Math.random()}`.slice(2);
      const stop = new AbortController();
      const source = `import subprocess, sys\ndef tool(): subprocess.run([sys.executable, "-c", "import time; time.sleep(60) # ${mark}"])`;
      const call = bench.call(source, {}, stop.signal);
      expect(await eventually(() => processesWith(mark).length > 0)).toBe(true);
      stop.abort(new Error('halted'));
      await expect(call).rejects.toThrow('halted');
      expect(await eventually(() => processesWith(mark).length === 0)).toBe(true);
      await expect(bench.call('def tool(): pass', {}, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
    });

    it('takes only the first reply and none that is not JSON', async () => {
      const forge = (reply: string) =>
        `import os\ndef tool():\n for fd in range(3, 64):\n  try: os.write(fd, ${reply})\n  except OSError: pass\n return 1`;
      expect((await bench.call(forge('b"Rnonsense\\n"'))).error).toBe('the tool returned invalid data');
      expect((await bench.call(forge('b"R[1]\\n"'))).error).toBe('the tool returned invalid data');
      expect((await bench.call(forge('b"garbage\\n"'))).error).toBe('the tool returned invalid data');
      expect((await bench.call('import os\ndef tool():\n os.closerange(0, 256)\n return 1')).error).toContain(
        'ended without a result',
      );
      expect(await bench.value('import os\ndef tool():\n os.fork()\n return os.getpid() > 0')).toBe(true);
    });

    it('runs calls side by side', async () => {
      const calls = Array.from({ length: 8 }, (_, n) =>
        bench.value('import time\ndef tool(n):\n time.sleep(0.2)\n return n', { arguments: { n } }),
      );
      expect(await Promise.all(calls)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    });
  });
}
