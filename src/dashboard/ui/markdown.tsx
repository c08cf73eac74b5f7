import { type ComponentProps, memo, useEffect, useRef, useState } from 'react';
import ReactMarkdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { Copyable } from './copy.tsx';

/** A block of code that a model wrote. Its text is known only after rendering. */
function Block({ children }: ComponentProps<'pre'>) {
  const block = useRef<HTMLPreElement>(null);
  const [text, setText] = useState('');
  // biome-ignore lint/correctness/useExhaustiveDependencies: other children have another text
  useEffect(() => setText(block.current?.textContent ?? ''), [children]);
  return (
    <Copyable text={text} what="the code">
      <pre ref={block}>{children}</pre>
    </Copyable>
  );
}

const PLUGINS = [remarkGfm];

/** Text that a model wrote. HTML is shown as text, images become links, and links open in a new tab. */
export const Markdown = memo(function Markdown({ children }: { children: string }) {
  return (
    <div className="prose">
      <ReactMarkdown
        remarkPlugins={PLUGINS}
        components={{
          a: ({ href, children: text }) => (
            <a href={href} target="_blank" rel="noreferrer noopener">
              {text}
            </a>
          ),
          pre: Block,
          img: ({ src, alt }) => (
            <a href={String(src ?? '')} target="_blank" rel="noreferrer noopener">
              {alt || 'picture'}
            </a>
          ),
        }}
      >
        {children}
      </ReactMarkdown>
    </div>
  );
});
