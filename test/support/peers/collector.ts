import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface Exported {
  name: string;
  trace_id: string;
  span_id: string;
  parent_id: string;
  /** The span's kind by its number in OTLP: 1 internal, 2 server, 3 client. */
  kind: number;
  /** The span's status; 2 means that it failed. */
  status: number;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
}

interface Value {
  stringValue?: string;
  intValue?: string | number;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: Value[] };
}
interface Attribute {
  key: string;
  value: Value;
}
interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind: number;
  status?: { code?: number };
  attributes?: Attribute[];
}
interface Request {
  resourceSpans?: { resource?: { attributes?: Attribute[] }; scopeSpans?: { spans?: Span[] }[] }[];
}

/** Starts a collector of traces over OTLP with JSON. */
export async function startCollector() {
  const spans: Exported[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as Request;
    bodies.push(JSON.stringify(body));
    spans.push(...exportedIn(body));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    /** Returns everything that arrived, unchanged. */
    text: () => bodies.join('\n'),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const exportedIn = ({ resourceSpans = [] }: Request): Exported[] =>
  resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) =>
      spans.map(({ name, traceId, spanId, parentSpanId = '', kind, status, attributes }) => ({
        ...{ name, trace_id: traceId, span_id: spanId, parent_id: parentSpanId, kind, status: status?.code ?? 0 },
        attributes: plain(attributes),
        resource: plain(resource?.attributes),
      })),
    ),
  );

const plain = (attributes: Attribute[] = []) => Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));

function plainValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: Value): unknown {
  if (arrayValue) return arrayValue.values.map(plainValue);
  return stringValue ?? boolValue ?? doubleValue ?? Number(intValue);
}
