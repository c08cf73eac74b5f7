/** Returns a reference to a place of the document that Ajv knows under that name. */
export const schemaReference = (document: string, keys: readonly string[]): string =>
  `${document}#/${keys.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
