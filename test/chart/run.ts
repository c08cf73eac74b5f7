import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { findHelm, HOW_TO_GET_HELM } from '../support/machine/helm.ts';
import { LOCATION, writeKeda, writeKubernetes } from './schemas.ts';

/** `npm run chart`: does Kubernetes, of each version, accept what the chart renders? Needs Helm, kubeconform and Go. */
const VERSIONS = [
  { kubernetes: 'v1.25.16', keda: 'v2.17.0' },
  { kubernetes: 'v1.31.14', keda: 'v2.21.0' },
  { kubernetes: 'v1.37.2', keda: 'v2.21.0' },
];
const HOW_TO_GET_KUBECONFORM =
  'install kubeconform, or build it: GOBIN=~/.cache/perdura/bin go install github.com/yannh/kubeconform/cmd/kubeconform@latest';

const folder = join(import.meta.dirname, '../../deploy/helm');
const chart = join(folder, 'perdura');
const examples = readdirSync(join(folder, 'examples'));

function found(program: string, how: string): string {
  if (program) return program;
  throw new Error(`The chart cannot be checked: ${how}`);
}

function findKubeconform(): string {
  const places = ['kubeconform', join(homedir(), '.cache/perdura/bin/kubeconform')];
  return places.find((place) => !spawnSync(place, ['-v']).error) ?? '';
}

function output(program: string, args: string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { input, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw error ?? new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`);
}

function check(schemas: string): void {
  const helm = found(findHelm(), HOW_TO_GET_HELM);
  const kubeconform = found(findKubeconform(), HOW_TO_GET_KUBECONFORM);
  for (const { kubernetes, keda } of VERSIONS) {
    writeKubernetes(join(schemas, kubernetes), kubernetes);
    writeKeda(join(schemas, keda), keda);
  }
  for (const example of examples) {
    const values = ['-f', join(folder, 'examples', example)];
    console.log(
      `${example}: ${output(helm, ['lint', chart, '--strict', ...values])
        .trim()
        .split('\n')
        .at(-1)}`,
    );
    for (const { kubernetes, keda } of VERSIONS) {
      const rendered = output(helm, ['template', 'perdura', chart, '-n', 'perdura', '--kube-version', kubernetes, ...values]);
      const places = [kubernetes, keda].flatMap((place) => ['-schema-location', join(schemas, place, LOCATION)]);
      const summary = output(kubeconform, ['-strict', '-summary', ...places], rendered).trim();
      console.log(`${example}, Kubernetes ${kubernetes}, KEDA ${keda}: ${summary}`);
    }
  }
}

const schemas = mkdtempSync(join(tmpdir(), 'perdura-schemas-'));
try {
  check(schemas);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  rmSync(schemas, { recursive: true, force: true });
}
