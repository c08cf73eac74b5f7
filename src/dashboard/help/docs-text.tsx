import type { ComponentProps, ReactNode } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import { Link } from 'react-router';
import remarkGfm from 'remark-gfm';
import { ScrollBox } from '../ui/scroll-box.tsx';

const toText = (node: ReactNode): string =>
  Array.isArray(node)
    ? node.map(toText).join('')
    : typeof node === 'object' && node !== null && 'props' in node
      ? toText((node.props as { children?: ReactNode }).children)
      : String(node ?? '');

/** Returns the anchor of a heading, as GitHub makes it. */
export const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** Returns where a link of a page leads: to another page of the docs, or out. Files of the repository are not served. */
export function toAddress(href: string): { inside?: string; outside?: string } {
  const [, page, section = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (page) return { inside: `/help/${page}${section}` };
  if (href.startsWith('#')) return { inside: href };
  return /^https?:/.test(href) ? { outside: href } : {};
}

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
