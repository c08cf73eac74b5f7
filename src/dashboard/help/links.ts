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

/** Returns the page of the docs, and the section, that a link on a page leads to. A link to a section alone stays on the page. */
export function findPlace({ pathname, hash }: Pick<URL, 'pathname' | 'hash'>, page: string): string {
  const [, name = page] = /\/help\/([\w-]+)$/.exec(pathname) ?? [];
  return `${name}${hash}`;
}
