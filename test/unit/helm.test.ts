import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { findHelm, HOW_TO_GET_HELM } from '../support/machine/helm.ts';

const folder = (path: string) => fileURLToPath(new URL(`../../deploy/helm/${path}`, import.meta.url));
const EXAMPLES = readdirSync(folder('examples')).map((file) => file.replace('.yaml', ''));
/** Helm that was built without a release asks for a version. */
const CLUSTER = ['--kube-version', '1.31.0'];

const helm = findHelm();
if (!helm) console.log(`Tests of the Helm chart are left out: ${HOW_TO_GET_HELM}`);

function run(...args: string[]): string {
  const { stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8' });
  return stdout + stderr;
}
const values = (example: string) => ['-f', folder(`examples/${example}.yaml`)];
const render = (...args: string[]) => run('template', 'perdura', folder('perdura'), '-n', 'perdura', ...CLUSTER, ...args);

describe.skipIf(!helm)('the Helm chart', () => {
  it.each(EXAMPLES)('has no faults that helm lint knows, with the values of %s', (example) => {
    expect(run('lint', folder('perdura'), '--strict', ...values(example))).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  it.each(EXAMPLES)('renders the values of %s as before', async (example) => {
    await expect(render(...values(example))).toMatchFileSnapshot(`snapshots/helm-${example}.yaml`);
  });

  it('refuses values that are missing, misspelled or secret', () => {
    const minimal = values('minimal');
    expect(render()).toContain('temporal.address: host:port of your Temporal server');
    expect(render('--set', 'temporal.address=t:7233')).toContain('secretName: the Secret with DATABASE_URL');
    expect(render(...minimal, '--set', 'setings.LOG_LEVEL=info')).toMatch(/additional properties 'setings' not allowed/);
    expect(render(...minimal, '--set', 'workers.all.role=tool')).toMatch(/workers.all.role': 'tool' does not match/);
    expect(render(...minimal, '--set', 'settings.DATABASE_URL=postgresql://x')).toContain(
      'settings.DATABASE_URL is secret: put it into the Secret',
    );
  });
});

interface Pod {
  securityContext: Record<string, unknown>;
  containers: { securityContext: Record<string, unknown>; readinessProbe?: unknown; livenessProbe?: unknown; args: string[] }[];
}

describe.each(EXAMPLES)('the rendered chart of %s', (example) => {
  const text = readFileSync(new URL(`snapshots/helm-${example}.yaml`, import.meta.url), 'utf8');
  const resources = parseAllDocuments(text).map((document) => document.toJS() as { kind: string; spec: any });
  const pods = resources.flatMap(({ spec }) => (spec?.template ? [spec.template.spec as Pod] : []));
  const staying = resources.flatMap(({ kind, spec }) => (kind === 'Deployment' ? [spec.template.spec as Pod] : []));

  it('runs everything without rights and with a root that is read-only', () => {
    expect(pods.length).toBeGreaterThan(2);
    for (const { securityContext, containers } of pods) {
      expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } });
      expect(containers.map((container) => container.securityContext)).toEqual([
        { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      ]);
    }
  });

  it('probes what stays', () => {
    const probes = staying.flatMap(({ containers }) => containers.map((c) => [c.args[0], c.readinessProbe, c.livenessProbe]));
    const at = (path: string, port: string) => expect.objectContaining({ httpGet: { path, port } });
    const ports: Record<string, string> = { api: 'http', worker: 'metrics' };
    expect(probes).toEqual(
      probes.map(([name]) => [name, at('/health/ready', ports[String(name)]!), at('/health/live', ports[String(name)]!)]),
    );
  });
});

it('the chart has the version of the package', () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const { version } = JSON.parse(read('package.json'));
  expect(parse(read('deploy/helm/perdura/Chart.yaml'))).toMatchObject({ version, appVersion: version });
});
