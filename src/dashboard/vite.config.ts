import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The address at which `npm start` serves, for `vite dev`. */
const INSTALLATION = 'http://127.0.0.1:8080';

export default defineConfig({
  root: import.meta.dirname,
  base: '/dashboard/',
  plugins: [react()],
  build: {
    outDir: '../../dist/dashboard',
    emptyOutDir: true,
    target: 'es2022',
    // Inlined `data:` URLs would need another content security policy.
    assetsInlineLimit: 0,
  },
  server: { proxy: { '/api': INSTALLATION, '/auth': INSTALLATION, '/health': INSTALLATION } },
});
