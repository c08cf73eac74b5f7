import type { Mutant } from './mutant.ts';

const tests = [{ file: 'test/unit/patterns.test.ts', name: 'take a time in proportion to the text' }];

export default [
  {
    id: 'patterns/data-url',
    file: 'src/api/routes/attachments.ts',
    text: '={0,2}$/.test(data.trimEnd())',
    replacement: '={0,2}\\s*$/.test(data)',
    harm: 'A prompt of one megabyte of spaces stops the API for half an hour.',
    tests,
  },
  {
    id: 'patterns/facts',
    file: 'src/domain/memory.ts',
    text: "const text = answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1);",
    replacement: "const text = /\\{[\\s\\S]*\\}/.exec(answer)?.[0] ?? '';",
    harm: 'A model that answers with nothing but braces stops one worker after the other.',
    tests,
  },
] satisfies Mutant[];
