import { type ComponentProps, memo, useEffect, useId, useRef, useState } from 'react';
import ReactMarkdown, { type Components, type ExtraProps } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { Copyable } from './copy.tsx';
import { ScrollBox } from './scroll-box.tsx';

/** A block of code that a model wrote. Its text is known only after rendering. */
function Block({ children }: ComponentProps<'pre'>) {
  const block = useRef<HTMLPreElement>(null);
  const [text, setText] = useState('');
  // biome-ignore lint/correctness/useExhaustiveDependencies: other children have another text
  useEffect(() => setText(block.current!.textContent!), [children]);
  return (
    <Copyable text={text} what="the code">
      <ScrollBox label="Code" className="code-block">
        <pre ref={block}>{children}</pre>
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

/** Returns an element whose text runs as its first letter does: an answer may mix scripts. */
const auto = (Tag: 'p' | 'li' | 'h1' | 'h2' | 'h3' | 'td' | 'th') =>
  function Auto({ node: _, ...props }: ExtraProps) {
    return <Tag dir="auto" {...props} />;
  };

const COMPONENTS: Components = {
  p: auto('p'),
  li: auto('li'),
  h1: auto('h1'),
  h2: auto('h2'),
  h3: auto('h3'),
  td: auto('td'),
  th: auto('th'),
  a: ({ href, children }) => <Outward href={href}>{children}</Outward>,
  pre: Block,
  img: ({ src, alt }) => <Outward href={src as string}>{alt || 'picture'}</Outward>,
  table: ({ children }) => (
    <ScrollBox label="Table" className="table-scroll">
      <table>{children}</table>
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
  // The ids of footnotes must differ from those of other texts on the page.
  const clobberPrefix = `text-${useId()}-`;
  return (
    <div className="prose" dir="auto">
      <ReactMarkdown remarkPlugins={PLUGINS} remarkRehypeOptions={{ clobberPrefix }} components={COMPONENTS}>
        {children}
      </ReactMarkdown>
    </div>
  );
});
