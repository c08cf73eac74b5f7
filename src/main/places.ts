import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export const MIGRATIONS = `${ROOT}prisma/migrations`;
export const DASHBOARDS = {
  folder: `${ROOT}dist/dashboard`,
  legacy_folder: fileURLToPath(new URL('../dashboard-legacy', import.meta.url)),
};
export const PERDURA_VERSION = (JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string }).version;
