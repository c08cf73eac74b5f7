import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const HOW_TO_GET_HELM =
  'install Helm, or build it: GOBIN=~/.cache/perdura/bin go install helm.sh/helm/v3/cmd/helm@latest, or name one in HELM_PATH';

/** Returns a `helm` executable: HELM_PATH, the PATH, or the cache of programs that were built for tests; '' if there is none. */
export function findHelm({ HELM_PATH }: NodeJS.ProcessEnv = process.env): string {
  const places = [HELM_PATH, 'helm', join(homedir(), '.cache/perdura/bin/helm')].filter((place) => place !== undefined);
  return places.find((place) => (existsSync(place) || place === 'helm') && !spawnSync(place, ['version']).error) ?? '';
}
