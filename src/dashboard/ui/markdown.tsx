import './prose.css';
import { type ComponentProps, memo, useEffect, useId, useRef, useState } from 'react';
import ReactMarkdown, { type Components, type ExtraProps } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { Copyable } from './copy.tsx';
import { ScrollBox } from './scroll-box.tsx';
import { createSplitter } from './split-blocks.ts';

/** A block of code that a model wrote. Its text is known only after rendering. */
function Block({ children }: ComponentProps<'pre'>) {
  const block = useRef<HTMLPreElement>(null);
  const [text, setText] = useState('');
  // biome-ignore lint/correctness/useExhaustiveDependencies: other children have another text
  useEffect(() => setText(block.current!.textContent!), [children]);
  return (
    <Copyable text={text} what="the code">
      <ScrollBox label="Code" className="code-block">
        <pre ref={block} dir="auto">
          {children}
        </pre>
      </ScrollBox>
    </Copyable>
  );
}

function Outward({ href, children }: ComponentProps<'a'>) {
  // The address is empty if its scheme is one that a browser would execute.
  if (!href) return <span>{children}</span>;
  if (href.startsWith('#')) return <a href={href}>{children}</a>;
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

/** Each block is laid out in the direction of its text: a right-to-left answer may quote left-to-right lines. */
const directed = (Tag: 'p' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6' | 'ul' | 'ol' | 'li' | 'blockquote' | 'td' | 'th') =>
  function Directed({ node: _, ...props }: ComponentProps<typeof Tag> & ExtraProps) {
    const Block = Tag as 'p';
    return <Block dir="auto" {...(props as ComponentProps<'p'>)} />;
  };

const COMPONENTS: Components = {
  p: directed('p'),
  h1: directed('h1'),
  h2: directed('h2'),
  h3: directed('h3'),
  h4: directed('h4'),
  h5: directed('h5'),
  h6: directed('h6'),
  ul: directed('ul'),
  ol: directed('ol'),
  li: directed('li'),
  blockquote: directed('blockquote'),
  td: directed('td'),
  th: directed('th'),
  a: ({ href, children }) => <Outward href={href}>{children}</Outward>,
  pre: Block,
  img: ({ src, alt }) => <Outward href={src as string}>{alt || 'picture'}</Outward>,
  table: ({ children }) => (
    <ScrollBox label="Table" className="table-scroll">
      <table dir="auto">{children}</table>
    </ScrollBox>
  ),
  // The box of a task list. It cannot be ticked here, and a form field would need a label.
  input: ({ checked }) => (
    <span role="img" aria-label={checked ? 'done' : 'not done'}>
      {checked ? '☑' : '☐'}
    </span>
  ),
};

const PLUGINS = [remarkGfm];

/** Shows text that a model wrote. HTML is shown as text, images become links, and links open in a new tab. */
export const Markdown = memo(function Markdown({ children }: { children: string }) {
  const [splitBlocks] = useState(createSplitter);
  return (
    <div className="prose" dir="auto">
      {splitBlocks(children).map(({ start, text }) => (
        <Part key={start}>{text}</Part>
      ))}
    </div>
  );
});

const Part = memo(function Part({ children }: { children: string }) {
  // The ids of footnotes must differ from those of other texts on the page.
  const clobberPrefix = `text-${useId()}-`;
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} remarkRehypeOptions={{ clobberPrefix }} components={COMPONENTS}>
      {children}
    </ReactMarkdown>
  );
});
