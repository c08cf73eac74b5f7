import type { Mutant } from './mutant.ts';

const EVENTS = 'test/unit/client/events.test.ts';
const REQUESTS = 'test/unit/client/requests.test.ts';
const CLI = 'test/clients/cli.test.ts';

export default [
  {
    id: 'clients/stream-from-the-start',
    file: 'src/client/events.ts',
    text: "headers: last === null ? {} : { 'last-event-id': String(last) },",
    replacement: 'headers: {},',
    harm: 'After a lost connection a program sees every event of the run again.',
    tests: [
      { file: EVENTS, name: 'continue after the last one when the connection is lost' },
      {
        file: 'test/clients/typescript.test.ts',
        name: 'follows a run over a lost connection from its package alone, with types',
      },
    ],
  },
  {
    id: 'clients/end-before-the-rest',
    file: 'src/client/events.ts',
    text: 'if (had_ended) continue;',
    replacement: 'if (had_ended) return;',
    harm: 'A program misses the answer of a run that ends while its server is restarted.',
    tests: [{ file: EVENTS, name: 'are complete if the run ends while nobody is connected' }],
  },
  {
    id: 'clients/silent-stream',
    file: 'src/client/events.ts',
    text: "timer = setTimeout(() => silence.abort(new Error('the stream was silent for too long')), transport.silence_ms);",
    replacement: '',
    harm: 'A program waits forever on a connection whose cable was pulled.',
    tests: [{ file: EVENTS, name: 'continue on another connection when one is silent' }],
  },
  {
    id: 'clients/key-for-each-attempt',
    file: 'src/client/transport.ts',
    text: 'return await once(route, input);',
    replacement:
      'return await once(route, { ...input, ...(IDEMPOTENT.has(route) ? { idempotency_key: crypto.randomUUID() } : {}) });',
    harm: 'A prompt whose answer was lost is run twice.',
    tests: [{ file: REQUESTS, name: 'is repeated with the same key if it' }],
  },
  {
    id: 'clients/repeated-decision',
    file: 'src/client/transport.ts',
    text: 'return repeatable ? growing : null;',
    replacement: 'return growing;',
    harm: 'A request that takes no key is made twice when its answer is lost.',
    tests: [{ file: REQUESTS, name: 'fails at once' }],
  },
  {
    id: 'clients/python-stream-from-the-start',
    file: 'clients/python/src/perdura/_rules.py',
    text: 'return {} if self._last is None else {"last-event-id": str(self._last)}',
    replacement: 'return {}',
    harm: 'After a lost connection a Python program sees every event of the run again.',
    tests: [{ file: 'test/clients/python.test.ts', name: 'follows a run over a lost connection' }],
  },
  {
    id: 'clients/login-for-everybody',
    file: 'src/main/remote/login.ts',
    text: '  await chmod(draft, 0o600);\n',
    replacement: '  await chmod(draft, 0o644);\n',
    harm: 'Other users of the machine read the access token.',
    tests: [
      { file: 'test/unit/client/remote-options.test.ts', name: 'can be read by its owner only, and replaces what was stored' },
    ],
  },
  {
    id: 'clients/prune-of-others',
    file: 'src/main/declared/installed.ts',
    text: "if (type === 'workflow' || record.created_by === me.id) ids.add(record.id);",
    replacement: 'ids.add(record.id);',
    harm: 'perdura apply --prune deletes what other people made.',
    tests: [{ file: CLI, name: 'makes an installation as declared, shows what differs, and deletes only if it may' }],
  },
  {
    id: 'clients/secret-in-a-file',
    file: 'src/main/declared/read.ts',
    text: 'if (secret && value !== MASK && !isTemplate(value))',
    replacement: 'if (false && secret && value !== MASK && !isTemplate(value))',
    harm: 'A secret in a file is printed with the difference.',
    tests: [{ file: 'test/unit/client/declared.test.ts', name: 'are refused with the reason and the file' }],
  },
  {
    id: 'clients/terminals-are-steered',
    file: 'src/main/terminal.ts',
    text: 'isTTY ? printable(text) : text',
    replacement: 'text',
    harm: 'What a model wrote hides the arguments of the call that a person approves.',
    tests: [{ file: 'test/unit/terminal.test.ts', name: 'a terminal gets no control characters' }],
  },
  {
    id: 'clients/logs-steer-terminals',
    file: 'src/main/log.ts',
    text: 'return printable(parts.length > 0',
    replacement: 'return String(parts.length > 0',
    harm: 'The name of a resource hides a line of the log.',
    tests: [{ file: 'test/unit/terminal.test.ts', name: 'a line of the log for people' }],
  },
] satisfies Mutant[];
