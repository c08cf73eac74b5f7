import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'names/passphrases',
    file: 'src/domain/secrets.ts',
    text: 'passw|passphrase|passcode|pwd|',
    replacement: 'passw|',
    harm: 'The passphrase of a connection is stored and shown in clear.',
    tests: [{ file: 'test/unit/secret-names.test.ts', name: 'has a name here for each word' }],
  },
  {
    id: 'names/flags',
    file: 'src/domain/secrets.ts',
    text: '|| afterFlag(before)',
    replacement: '',
    harm: '`--api-key`, `sk…` as two arguments of an MCP server are shown in clear.',
    tests: [{ file: 'test/unit/secret-names.test.ts', name: 'after a flag' }],
  },
  {
    id: 'names/queries',
    file: 'src/domain/secrets.ts',
    text: `  isKeyedUrl(text) ||
`,
    replacement: '',
    harm: 'A key in the URL of an MCP server is shown in clear.',
    tests: [{ file: 'test/unit/secret-names.test.ts', name: 'in the query of a URL' }],
  },
  {
    id: 'names/further-in',
    file: 'src/domain/secrets.ts',
    text: 'const secret = place.secret || SECRET_NAME.test(key)',
    replacement: 'const secret = SECRET_NAME.test(key)',
    harm: 'What is nested in a field named credentials is shown in clear.',
    tests: [{ file: 'test/unit/secret-names.test.ts', name: 'with everything below it' }],
  },
] satisfies Mutant[];
