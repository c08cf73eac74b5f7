import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The address at which `npm start` serves, for `vite dev`. */
const INSTALLATION = 'http://127.0.0.1:8080';

/** Set by `npm run coverage`, which measures pages in the bundle: a map leads back to its sources, and smaller code has other conditions. */
const is_measured = Boolean(process.env.PERDURA_COVERAGE);

export default defineConfig(({ command }) => {
  // A build is always the same: with the NODE_ENV of a test or a shell, it would have React's slower code for development.
  if (command === 'build') process.env.NODE_ENV = 'production';
  return {
    root: import.meta.dirname,
    base: '/dashboard/',
    plugins: [react()],
    build: {
      outDir: '../../dist/dashboard',
      emptyOutDir: true,
      target: 'es2022',
      // Inlined `data:` URLs would need another content security policy.
      assetsInlineLimit: 0,
      sourcemap: is_measured,
      minify: !is_measured,
      // Otherwise it is still minified a little: conditions are joined.
      ...(is_measured && { rolldownOptions: { output: { minify: false } } }),
    },
    server: { proxy: { '/api': INSTALLATION, '/auth': INSTALLATION, '/health': INSTALLATION } },
  };
});
