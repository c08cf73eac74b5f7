import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import ReactMarkdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { describe, expect, it } from 'vitest';
import { createSplitter } from '../../../src/dashboard/ui/split-blocks.ts';

const TEXT = `# Orders

Two are late:

- 4711, since Tuesday

  with its second paragraph
- 4713

\`\`\`python
print(1)

print(2)
\`\`\`

| order | days |
|---|---|
| 4711 | 5 |

Title
=====

The end.`;

const toTexts = (split: ReturnType<typeof createSplitter>) => (text: string) => split(text).map((block) => block.text);

/** Lets a text grow letter by letter, and returns the blocks of each of its states. */
function grow(text: string) {
  const split = toTexts(createSplitter());
  return Array.from({ length: text.length }, (_, index) => split(text.slice(0, index + 1)));
}

const render = (text: string) => renderToStaticMarkup(createElement(ReactMarkdown, { remarkPlugins: [remarkGfm] }, text));

describe('the blocks of a text that grows', () => {
  it('are those of Markdown: lists, code and tables stay whole', () => {
    expect(
      grow(TEXT)
        .at(-1)!
        .map((block) => block.trim().split('\n')[0]),
    ).toEqual(['# Orders', 'Two are late:', '- 4711, since Tuesday', '```python', '| order | days |', 'Title', 'The end.']);
  });

  it('make the text together, at any time', () => {
    expect(grow(TEXT).map((blocks) => blocks.join(''))).toEqual(grow(TEXT).map((_, index) => TEXT.slice(0, index + 1)));
  });

  it('look as the whole text does', () => {
    const inner = (html: string) =>
      html
        .replace(/^<div[^>]*>|<\/div>$/g, '')
        .replaceAll(/>\n+</g, '><')
        .trim();
    const blocks = grow(TEXT).at(-1)!;
    expect(blocks.map((block) => inner(render(block))).join('')).toBe(inner(render(TEXT)));
  });

  it('do not change before the last one', () => {
    const states = grow(TEXT);
    const changed = states.slice(1).filter((blocks, index) => {
      const finished = states[index]!.slice(0, -1);
      return finished.some((block, at) => block !== blocks[at]);
    });
    expect(changed).toEqual([]);
  });

  it('are one while some refer to others', () => {
    const text = 'As [the rules] say.\n\nAnd more.\n\n[the rules]: https://rules.example\n';
    expect(grow(text).at(-1)).toEqual([text]);
  });
});

describe('a text that does not grow', () => {
  it('is one block, whatever was shown before', () => {
    const split = toTexts(createSplitter());
    expect(split(TEXT)).toEqual([TEXT]);
    expect(split(TEXT)).toEqual([TEXT]);
    expect(split('One.\n\nTwo.')).toEqual(['One.\n\nTwo.']);
    expect(split('One.\n\nTwo.\n\nThree.')).toEqual(['One.\n\n', 'Two.\n\n', 'Three.']);
    expect(split('Two.\n\nThree.')).toEqual(['Two.\n\nThree.']);
  });

  it('keeps its blocks when it has grown before', () => {
    const split = toTexts(createSplitter());
    split('One.');
    const grown = split('One.\n\nTwo.');
    expect(split('One.\n\nTwo.')).toEqual(grown);
    expect(grown).toEqual(['One.\n\n', 'Two.']);
  });
});
