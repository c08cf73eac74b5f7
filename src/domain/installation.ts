/** The creator of what the installation brings along: bundled tools and the sample. */
export const INSTALLATION = 'perdura';
