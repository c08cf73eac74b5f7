/** The TypeScript snippets of a page: each starts with the comment `// <path>` of the file that it is. */
export interface Snippet {
  page: string;
  /** The path of its first line; null if it names none. */
  path: string | null;
  code: string;
}

const FENCE = /^( *)```ts\n([\s\S]*?)^ *```$/gm;

export const listSnippets = (page: string, text: string): Snippet[] =>
  [...text.matchAll(FENCE)].map(([, indent = '', body = '']) => {
    const [first = '', ...rest] = body.split('\n').map((line) => line.replace(indent, ''));
    const path = /^\/\/ ([\w./-]+\.tsx?)$/.exec(first)?.[1] ?? null;
    return { page, path, code: rest.join('\n') };
  });
