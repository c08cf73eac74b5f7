import { afterEach, describe, expect, it } from 'vitest';
import { createResources } from '../../../src/main/resources.ts';
import { type Egress, openEgress, toHostPort } from '../../../src/main/wiring/egress.ts';

const resources = createResources((error) => {
  throw error;
});
afterEach(() => resources.close());

const opened = (more: object = {}): Egress =>
  openEgress(
    {
      ...{ egress_allow: ['10.0.0.1'], configuration_allow: ['10.0.0.2'], provider_allow: ['10.0.0.3'], own_ports: [1] },
      ...{
        database_url: 'postgres://db.example/x',
        direct_database_url: null,
        temporal_address: 'temporal.example:7233',
        temporal_ui_url: null,
      },
      config: { EGRESS_MESSAGE_MB: 2, EGRESS_STREAM_MB: 3, EGRESS_ERROR_KB: 4, EGRESS_HEADER_KB: 5 },
      ...more,
    } as never,
    resources,
  );

describe('what may be reached', () => {
  it('is decided by who asks', () => {
    const { configuration, providers, tools, tools_allow } = opened();
    const reached = ({ rules }: { rules: Egress['tools']['rules'] }) =>
      ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'].filter((address) => rules({ address, port: 80 }) === 'allowed');
    expect(reached(configuration)).toEqual(['10.0.0.1', '10.0.0.2']);
    expect(reached(providers)).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    expect(reached(tools)).toEqual(['10.0.0.1']);
    expect(tools_allow).toEqual(['10.0.0.1']);
  });

  it('is read within the limits that are set', () => {
    expect(opened().limits).toEqual({ message: 2_097_152, stream: 3_145_728, error: 4_096, headers: 5_120 });
  });

  it('is read and counted at addresses of the operator, too', async () => {
    expect(await (await opened().installation('data:,hello')).text()).toBe('hello');
    const config = { EGRESS_MESSAGE_MB: 4 / 1_048_576, EGRESS_STREAM_MB: 1, EGRESS_ERROR_KB: 1, EGRESS_HEADER_KB: 1 };
    const response = await opened({ config }).installation('data:,hello');
    await expect(response.text()).rejects.toThrow('an answer of more than 1 KiB is not read');
  });

  it.each<[string, object, number[]]>([
    ['none but those it is given', {}, []],
    ['of a database on this machine', { database_url: 'postgresql://localhost:5433/x' }, [5433]],
    ['of the database behind a pooler', { direct_database_url: 'postgresql://localhost:5434/x' }, [5434]],
    ['of a database on its usual port', { database_url: 'postgresql://127.0.0.1/x' }, [5432]],
    ['of a database on its usual port, by the other name', { database_url: 'postgres://127.9.9.9/x' }, [5432]],
    ['of a database on its socket', { database_url: 'postgres:///x' }, [5432]],
    ['of Temporal', { temporal_address: '127.0.0.1:7233' }, [7233]],
    ['none of Temporal without a port', { temporal_address: 'localhost' }, [0]],
    ['of Temporal on IPv6', { temporal_address: '[::1]:7233' }, [7233]],
    ['of a server on all addresses', { temporal_address: '0.0.0.0:7233' }, [7233]],
    ['of a server on all addresses of IPv6', { temporal_address: '[::]:7233' }, [7233]],
    ['of the UI', { temporal_ui_url: 'http://localhost' }, [80]],
    ['of the UI over TLS', { temporal_ui_url: 'https://localhost' }, [443]],
    ['of the UI elsewhere', { temporal_ui_url: 'https://localhost.example:9' }, []],
    ['of the UI at a place that reads like this machine', { temporal_ui_url: 'https://x127.0.0.1.example:9' }, []],
  ])('closes the ports: %s', (_, more, ports) => {
    expect([...opened(more).own_ports]).toEqual([1, ...ports]);
  });

  it.each([
    ['redis://localhost', [6379]],
    ['rediss://localhost', [6379]],
    ['redis://localhost:7000/2', [7000]],
    ['redis://redis.example', []],
    ['nonsense', []],
  ])('is not the port of Redis: %s', (REDIS_URL, ports) => {
    expect([...opened({ config: { REDIS_URL } }).own_ports]).toEqual([1, ...ports]);
  });

  it.each([
    ['smtp://user:secret@localhost', [587]],
    ['smtps://127.0.0.1', [465]],
    ['smtp://localhost:25', [25]],
    ['smtp://mail.example', []],
  ])('is not the port of the mail server: %s', (SMTP_URL, ports) => {
    expect([...opened({ config: { SMTP_URL } }).own_ports]).toEqual([1, ...ports]);
  });

  it('names a host with its port', () => {
    expect(['http://a.example/x', 'https://a.example', 'https://a.example:8/'].map(toHostPort)).toEqual([
      ...['a.example:80', 'a.example:443', 'a.example:8'],
    ]);
  });
});
