import { convert } from 'html-to-text';

const skipElements = (selectors: readonly string[]) => selectors.map((selector) => ({ selector, format: 'skip' }));

/** The most levels of elements; deeper ones are left out. */
const limits = { maxDepth: 200 };

/** Returns the text of a page without navigation and forms; link addresses are kept. */
export function pageText(html: string): string {
  const links = { selector: 'a', options: { hideLinkHrefIfSameAsText: true } };
  const selectors = [...skipElements(['script', 'style', 'nav', 'svg', 'img', 'form', 'noscript']), links];
  return convert(html, { wordwrap: false, selectors, limits });
}

/** Returns the text of an uploaded file. */
export function documentText(html: string): string {
  const links = { selector: 'a', options: { ignoreHref: true } };
  return convert(html, { wordwrap: false, selectors: [...skipElements(['img', 'nav', 'script', 'style']), links], limits });
}
