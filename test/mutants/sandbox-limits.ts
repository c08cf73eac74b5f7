import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'sandbox-limits/open-files',
    file: 'src/toolrunner/python/perdura_tools/sandbox/limits.py',
    text: `        resource.RLIMIT_NOFILE: limits.open_files,
`,
    replacement: '',
    harm: 'A tool uses up the open files of the machine.',
    tests: [{ file: 'test/toolrunner/limits.test.ts', name: 'lets a call be that stays below it' }],
  },
  {
    id: 'sandbox-limits/file-size',
    file: 'src/toolrunner/python/perdura_tools/sandbox/limits.py',
    text: `        resource.RLIMIT_FSIZE: limits.file_mb * MB,
`,
    replacement: '',
    harm: 'A tool fills the disk with one file.',
    tests: [{ file: 'test/toolrunner/limits.test.ts', name: 'lets a call be that stays below it' }],
  },
  {
    id: 'sandbox-limits/processor-time',
    file: 'src/toolrunner/python/perdura_tools/sandbox/limits.py',
    text: `        resource.RLIMIT_CPU: limits.cpu_s,
`,
    replacement: '',
    harm: 'A tool occupies a processor for as long as it runs.',
    tests: [{ file: 'test/toolrunner/limits.test.ts', name: 'lets a call be that stays below it' }],
  },
  {
    id: 'sandbox-limits/address-space',
    file: 'src/toolrunner/python/perdura_tools/sandbox/limits.py',
    text: `        resource.RLIMIT_AS: limits.address_space_mb * MB,
`,
    replacement: '',
    harm: 'A tool takes the memory of the machine before the watch sees it.',
    tests: [{ file: 'test/toolrunner/limits.test.ts', name: 'lets a call be that stays below it' }],
  },
] satisfies Mutant[];
