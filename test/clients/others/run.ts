// `npm run try-clients -- <url> <token file> <model>`: clients that others wrote, against a running installation. Their packages have
// some hundred megabytes, so they are not part of `npm test`; they are kept in the user's cache.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const NPM = [
  'ai@7.0.173',
  '@ai-sdk/openai-compatible@3.0.92',
  '@langchain/openai@1.6.0',
  '@langchain/core',
  '@openai/agents@0.20.0',
  'zod',
];
/** The environments of Python, each with its program: they demand different versions of what they share. */
const ENVIRONMENTS = {
  venv: ['programs.py', ['langchain-openai==1.7.3', 'openai-agents==0.24.0', 'smolagents[openai]==1.26.0']],
  older: ['completions.py', ['litellm==1.83.0', 'llama-index-llms-openai-like==0.8.1']],
  aider: ['aider.py', ['aider-chat==0.86.2']],
} as const;

const [url, token_file, model] = process.argv.slice(2);
if (!url || !token_file || !model) {
  process.stderr.write('npm run try-clients -- <url> <token file> <model>\n');
  process.exit(2);
}
const place = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdura', 'other-clients');
const env = {
  ...process.env,
  BASE_URL: `${url.replace(/\/$/, '')}/v1`,
  ACCESS_TOKEN: readFileSync(token_file, 'utf8').trim(),
  MODEL: model,
};

if (!existsSync(join(place, 'complete'))) install();
cpSync(import.meta.dirname, place, { recursive: true });
run(process.execPath, ['programs.mjs']);
for (const [folder, [program]] of Object.entries(ENVIRONMENTS)) run(join(place, folder, 'bin/python'), [program]);

function install(): void {
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'package.json'), '{"private": true, "type": "module"}');
  run('npm', ['install', '--no-audit', '--no-fund', '--silent', ...NPM]);
  for (const [folder, [, packages]] of Object.entries(ENVIRONMENTS)) {
    run('python3', ['-m', 'venv', folder]);
    run(join(place, folder, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]);
  }
  writeFileSync(join(place, 'complete'), '');
}

function run(file: string, args: string[]): void {
  const { status } = spawnSync(file, args, { cwd: place, env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`${file} ${args[0]} ended with ${status}`);
}
