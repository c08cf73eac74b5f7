import { type ComponentProps, isValidElement, type ReactNode } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import { Link } from 'react-router';
import remarkGfm from 'remark-gfm';
import { ScrollBox } from '../ui/scroll-box.tsx';
import { toAddress, toAnchor } from './links.ts';

const toText = (node: ReactNode): string =>
  Array.isArray(node)
    ? node.map(toText).join('')
    : isValidElement<{ children?: ReactNode }>(node)
      ? toText(node.props.children)
      : String(node ?? '');

function DocsLink({ href = '', children }: ComponentProps<'a'>) {
  const { inside, outside } = toAddress(href);
  if (inside) return <Link to={inside}>{children}</Link>;
  if (!outside) return <span>{children}</span>;
  return (
    <a href={outside} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

const COMPONENTS: Components = {
  a: DocsLink,
  h2: ({ children }) => <h2 id={toAnchor(toText(children))}>{children}</h2>,
  h3: ({ children }) => <h3 id={toAnchor(toText(children))}>{children}</h3>,
  pre: ({ children }) => (
    <ScrollBox label="Code" className="code">
      {children}
    </ScrollBox>
  ),
  table: ({ children }) => (
    <ScrollBox label="Table" className="table-scroll">
      <table>{children}</table>
    </ScrollBox>
  ),
  // The pictures show what is on the screens around.
  img: () => null,
};

const PLUGINS = [remarkGfm];

/** Shows a page of the docs, with links between pages and an anchor at each heading. */
export const DocsText = ({ children }: { children: string }) => (
  <div className="prose docs">
    <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
      {children}
    </ReactMarkdown>
  </div>
);
