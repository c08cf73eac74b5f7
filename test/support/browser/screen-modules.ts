import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin, type Rolldown } from 'vite';
import { bundleFolder, coverageFolder } from '../../coverage/folder.ts';

const ROOT = join(import.meta.dirname, '../../..');
export const DASHBOARD = join(ROOT, 'src/dashboard');
const ENTRY = join(DASHBOARD, 'screens');
const STYLES = '\0styles';

/** Leaves to Node what screens import from elsewhere, packages and what they share with the service, so that there is one of each. */
const screens = (code: string): Plugin => ({
  name: 'screens',
  enforce: 'pre',
  resolveId(id, importer) {
    if (!importer) return ENTRY;
    if (id.endsWith('.css')) return STYLES;
    const path = id.startsWith('.') ? join(dirname(importer), id) : id;
    if (path.startsWith(DASHBOARD)) return path;
    return { id: path.startsWith('/') ? pathToFileURL(path).href : import.meta.resolve(id), external: true };
  },
  load: (id) => (id === ENTRY ? code : id === STYLES ? '' : null),
});

/**
 * Imports what `code` exports from modules of the dashboard. They are bundled as for browsers, because Node does not read JSX, and
 * because `npm run coverage` then finds the same branches in both.
 */
export async function importScreens<Modules>(code: string): Promise<Modules> {
  const { output } = (await build({
    configFile: false,
    logLevel: 'silent',
    root: DASHBOARD,
    plugins: [screens(code)],
    oxc: { jsx: { runtime: 'automatic', development: false } },
    build: {
      ssr: ENTRY,
      write: false,
      // The map leads to the sources from a folder in `dist`.
      outDir: join(ROOT, 'dist/screens'),
      target: 'es2022',
      sourcemap: true,
      rolldownOptions: { output: { codeSplitting: false, minify: false } },
    },
  })) as Rolldown.RolldownOutput;
  const [{ code: bundle, map }] = output;
  const measured = coverageFolder();
  const folder = mkdtempSync(join(measured ? bundleFolder(measured) : tmpdir(), 'screens-'));
  try {
    const file = join(folder, 'screens.js');
    writeFileSync(file, bundle);
    writeFileSync(`${file}.map`, map!.toString());
    return (await import(file)) as Modules;
  } finally {
    if (!measured) rmSync(folder, { recursive: true });
  }
}
