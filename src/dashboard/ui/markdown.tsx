import { memo } from 'react';
import ReactMarkdown from 'react-markdown';
import remarkGfm from 'remark-gfm';

const PLUGINS = [remarkGfm];

/** What a model wrote. HTML in it is shown as text, pictures from elsewhere are links, and links open outside. */
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
