import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'start/without-python',
    file: 'src/main/wiring/tool-runner.ts',
    text: '    return runnerWithoutPython(error);',
    replacement: '    throw error;',
    harm: 'Nothing starts on a machine without Python.',
    tests: [{ file: 'test/api/without-python.test.ts', name: 'API and worker start without Python' }],
  },
  {
    id: 'start/named-interpreter',
    file: 'src/main/wiring/tool-runner.ts',
    text: ' || config.TOOLRUNNER_PYTHON) throw error',
    replacement: ') throw error',
    harm: 'A mistyped TOOLRUNNER_PYTHON turns tools off instead of ending the start.',
    tests: [{ file: 'test/api/without-python.test.ts', name: 'a named interpreter that is missing ends the start' }],
  },
  {
    id: 'start/secret-in-a-refusal',
    file: 'src/main/config.ts',
    text: 'HIDDEN.test(name) ? name :',
    replacement: '',
    harm: 'A mistyped secret is printed into the log.',
    tests: [{ file: 'test/unit/config.test.ts', name: 'is refused in one sentence' }],
  },
  {
    id: 'start/password-in-a-refusal',
    file: 'src/main/config.ts',
    text: "value.replace(/\\/\\/[^/@]*@/, '//…@')",
    replacement: 'value',
    harm: "The database's password is printed into the log.",
    tests: [{ file: 'test/unit/config.test.ts', name: 'is refused in one sentence' }],
  },
  {
    id: 'start/port-that-is-set',
    file: 'src/main/dev.ts',
    text: 'configured_port === undefined ? await reservePort',
    replacement: 'configured_port !== 0 ? await reservePort',
    harm: 'PERDURA_PORT is ignored by an installation that had another port before.',
    tests: [{ file: 'test/e2e/package.test.ts', name: 'runs from the package alone' }],
  },
  {
    id: 'start/help-has-no-effect',
    file: 'src/main/help.mjs',
    text: "const isHelp = (word) => word === '--help' || word === '-h';",
    replacement: "const isHelp = (word) => word === '--assist';",
    harm: '`perdura migrate --help` migrates.',
    tests: [{ file: 'test/unit/help.test.ts', name: 'describes itself without being run' }],
  },
] satisfies Mutant[];
