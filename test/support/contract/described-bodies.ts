export interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  example?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  minLength?: number;
  minItems?: number;
  format?: string;
  minimum?: number;
  exclusiveMinimum?: number;
}

type Place = (body: any, change: (object: Record<string, unknown>) => void) => any;

interface Found {
  at: string;
  reach: Place;
  /** True if the description names none of its fields. */
  free: boolean;
}

/** Builds request bodies from the API's description: samples, and the objects inside them. */
export function describedBodies(schemas: Record<string, Schema>) {
  const resolved = (schema: Schema): Schema =>
    schema.$ref ? resolved(schemas[schema.$ref.split('/').at(-1) as string] as Schema) : schema;

  /** Returns a value that the schema accepts. */
  function sampleOf(given: Schema): any {
    const schema = resolved(given);
    if (schema.example !== undefined) return schema.example;
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return schema.enum[0];
    if (schema.anyOf) return sampleOf(schema.anyOf.find((one) => resolved(one).type !== 'null') as Schema);
    if (schema.oneOf) return sampleOf(schema.oneOf[0] as Schema);
    if (schema.type === 'array') return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(schema.items as Schema));
    if (schema.type === 'string') return TEXTS[schema.format as string] ?? 'x'.repeat(schema.minLength ?? 1);
    if (schema.type === 'integer' || schema.type === 'number') return Math.max(1, schema.minimum ?? 0);
    if (schema.type === 'boolean') return false;
    return Object.fromEntries((schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] as Schema)]));
  }

  /** Lists every object inside a body, with the way to reach it; one `any` key of a record represents all. */
  function objectsIn(given: Schema, at: string, reach: Place): Found[] {
    const schema = resolved(given);
    const inside = (inner: Schema, key: string, path: string) =>
      objectsIn(inner, path, (body, change) =>
        reach(body, (object) => {
          object[key] ??= sampleOf(inner);
          const held = { [key]: object[key] };
          change(held[key] as never);
        }),
      );
    if (schema.anyOf) return schema.anyOf.flatMap((one) => (resolved(one).type === 'null' ? [] : objectsIn(one, at, reach)));
    if (schema.type === 'array' && schema.items) {
      const kinds = resolved(schema.items).oneOf;
      return (kinds ?? [schema.items]).flatMap((kind) =>
        objectsIn(kind, `${at}.0`, (body, change) =>
          reach(body, (list) => {
            const items = list as unknown as unknown[];
            if (kinds || items.length === 0) items[0] = sampleOf(kind);
            change(items[0] as never);
          }),
        ),
      );
    }
    if (schema.type !== 'object') return [];
    const { additionalProperties: more, properties = {} } = schema;
    const takesTyped = typeof more === 'object' && Object.keys(more).length > 0;
    const free = more === true || (typeof more === 'object' && !takesTyped);
    const scalars = takesTyped && objectsIn(more, at, reach).length === 0;
    const own = takesTyped && !scalars ? [] : [{ at, reach, free: free || scalars }];
    const named = Object.entries(properties).flatMap(([name, inner]) => inside(inner, name, at ? `${at}.${name}` : name));
    return [...own, ...named, ...(takesTyped ? inside(more, 'ANY', `${at}.ANY`) : [])];
  }

  return { sampleOf, objectsIn: (schema: Schema) => objectsIn(schema, '', whole) };
}

const TEXTS: Record<string, string> = { uri: 'https://example.com/x', email: 'x@example.com' };

const whole: Place = (body, change) => {
  change(body);
  return body;
};
