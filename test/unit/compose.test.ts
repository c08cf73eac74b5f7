import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import schema from '../support/schemas/compose-spec.json' with { type: 'json' };

const file = new URL('../../docker-compose.yml', import.meta.url);

interface Service {
  image?: string;
  build?: string;
  command?: string;
  healthcheck?: { test?: string[]; disable?: boolean };
  depends_on?: Record<string, { condition: string }>;
  deploy?: { resources?: { limits?: { cpus?: string; memory?: string } } };
  read_only?: boolean;
  restart?: string;
}

const compose = parse(readFileSync(file, 'utf8'), { merge: true }) as { services: Record<string, Service> };
const services = Object.entries(compose.services);
const needs = services.flatMap(([name, { depends_on = {} }]) =>
  Object.entries(depends_on).map(([other, { condition }]) => ({ name, other, condition })),
);
/** Services that end when they have done their work. */
const tasks = new Set(needs.filter(({ condition }) => condition === 'service_completed_successfully').map(({ other }) => other));

describe('docker-compose.yml', () => {
  it('conforms to the Compose specification', () => {
    const validate = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
    validate(compose);
    expect(validate.errors).toBeNull();
  });

  it.each(services)('limits what %s uses, and restarts it', (name, { deploy, restart }) => {
    expect(deploy?.resources?.limits).toEqual({ cpus: expect.stringMatching(/^\d/), memory: expect.stringMatching(/^\d+[mg]$/) });
    expect(restart).toBe(tasks.has(name) ? 'on-failure:5' : 'unless-stopped');
  });

  it('checks the health of every service that stays, in the container or in the image', () => {
    const checked = services.filter(([, { build, healthcheck }]) => (build ? !healthcheck?.disable : healthcheck?.test));
    expect(checked.map(([name]) => name)).toEqual(services.map(([name]) => name).filter((name) => !tasks.has(name)));
    expect(readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')).toMatch(/^HEALTHCHECK /m);
  });

  it('starts each service when those that it needs are healthy or done', () => {
    expect(needs.filter(({ other, condition }) => condition === 'service_started' || !(other in compose.services))).toEqual([]);
    expect(Object.keys(compose.services.api?.depends_on ?? {})).toEqual(['migrate', 'temporal', 'redis']);
    expect(compose.services.worker?.depends_on).toEqual(compose.services.api?.depends_on);
  });

  it('runs Perdura with a root that is read-only', () => {
    const own = services.filter(([, { build }]) => build);
    expect(own.map(([name, { read_only }]) => [name, read_only])).toEqual([
      ['migrate', true],
      ['api', true],
      ['worker', true],
    ]);
  });
});
