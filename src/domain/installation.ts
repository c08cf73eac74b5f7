/** The creator of the records that the installation provides: bundled tools and the sample. */
export const INSTALLATION = 'perdura';
