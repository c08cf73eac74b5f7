import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

type Schema = Record<string, any>;

interface Definition extends Schema {
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

/** A Go module from the module proxy, unpacked. */
function moduleOf(path: string, version: string): string {
  const answer = execFileSync('go', ['mod', 'download', '-json', `${path}@${version}`], { encoding: 'utf8', cwd: '/' });
  return JSON.parse(answer).Dir;
}

/** Where kubeconform looks for a kind in a folder. */
export const LOCATION = '{{ .ResourceKind }}{{ .KindSuffix }}.json';

const write = (folder: string, { group, version, kind }: { group: string; version: string; kind: string }, schema: Schema) => {
  const suffix = [group.split('.')[0], version].filter(Boolean).join('-');
  writeFileSync(join(folder, `${kind}-${suffix}.json`.toLowerCase()), JSON.stringify(schema));
};

/** A field that a schema does not name is a mistake, as `kubectl --validate=strict` sees it. */
function strict(schema: Schema): Schema {
  if (schema.format === 'int-or-string' || schema['x-kubernetes-int-or-string']) return { type: ['integer', 'string'] };
  const own = Object.entries(schema).map(([key, value]) => [
    key,
    key === 'properties'
      ? Object.fromEntries(Object.entries(value).map(([name, it]) => [name, strict(it as Schema)]))
      : deep(value),
  ]);
  const open = 'additionalProperties' in schema || schema['x-kubernetes-preserve-unknown-fields'] || !schema.properties;
  return { ...Object.fromEntries(own), ...(open ? {} : { additionalProperties: false }) };
}

const deep = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(deep) : value && typeof value === 'object' ? strict(value as Schema) : value;

/** The schemas of a Kubernetes version, from the description of its API. */
export function writeKubernetes(folder: string, version: string): void {
  mkdirSync(folder, { recursive: true });
  const file = join(moduleOf('k8s.io/kubernetes', version), 'api/openapi-spec/swagger.json');
  const { definitions } = JSON.parse(readFileSync(file, 'utf8')) as { definitions: Record<string, Definition> };
  // Quantities may be written as numbers.
  const quantity = { 'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: ['string', 'number'] } };
  const all = Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, strict(schema)]));
  writeFileSync(join(folder, '_definitions.json'), JSON.stringify({ definitions: { ...all, ...quantity } }));
  for (const [name, { 'x-kubernetes-group-version-kind': kinds = [] }] of Object.entries(definitions)) {
    for (const kind of kinds) write(folder, kind, { $ref: `_definitions.json#/definitions/${name}` });
  }
}

/** The schemas of KEDA's own kinds. */
export function writeKeda(folder: string, version: string): void {
  mkdirSync(folder, { recursive: true });
  const file = join(moduleOf('github.com/kedacore/keda/v2', version), 'config/crd/bases/keda.sh_scaledobjects.yaml');
  const { spec } = parse(readFileSync(file, 'utf8'));
  for (const { name, schema } of spec.versions) {
    write(folder, { group: spec.group, version: name, kind: spec.names.kind }, strict(schema.openAPIV3Schema));
  }
}
