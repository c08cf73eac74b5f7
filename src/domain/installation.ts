/** The creator of what came with the installation: bundled tools and the sample. */
export const INSTALLATION = 'perdura';
