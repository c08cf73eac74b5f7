/** The described API, as far as the tenant matrix covers it. */
interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  required?: string[];
}
interface Described {
  parameters?: { in: string; name: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}
export interface Description {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
}

export interface Operation {
  /** The operation, such as `GET /api/agents/{id}`. */
  name: string;
  method: string;
  path: string;
  query: string[];
  headers: string[];
  /** The paths of the body's fields; `[]` is an item of a list, `{}` a value of a map. */
  fields: string[];
  /** The accepted values of fields with a fixed set of them. */
  choices: Record<string, string[]>;
  /** The fields that a body must have. */
  required: string[];
}

export function operationsOf(api: Description): Operation[] {
  const resolved = ({ $ref, ...schema }: Schema): Schema =>
    $ref ? (api.components.schemas[$ref.split('/').at(-1) as string] as Schema) : schema;
  function* fieldsOf(given: Schema, path: string, above: Schema[] = []): Generator<string> {
    const schema = given.$ref ? resolved(given) : given;
    if (above.includes(schema)) return;
    const seen = [...above, schema];
    for (const inner of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
      yield* fieldsOf(inner, path, seen);
    if (schema.items) yield* fieldsOf(schema.items, `${path}[]`, seen);
    if (typeof schema.additionalProperties === 'object') yield* fieldsOf(schema.additionalProperties, `${path}{}`, seen);
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const field = path ? `${path}.${name}` : name;
      yield field;
      yield* fieldsOf(inner, field, seen);
    }
  }
  const choicesOf = (given: Schema): string[] => {
    const schema = given.$ref ? resolved(given) : given;
    const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap(choicesOf);
    return [...(schema.enum ?? []).filter((value) => typeof value === 'string'), ...inner] as string[];
  };
  /** Lists the fields of the body itself; the caller handles a choice within a list. */
  const ownFields = (given: Schema): [string, Schema][] => {
    const schema = given.$ref ? resolved(given) : given;
    return [...Object.entries(schema.properties ?? {}), ...(schema.allOf ?? []).flatMap(ownFields)];
  };
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => {
      const schemas = Object.values(requestBody?.content ?? {}).map(({ schema }) => schema);
      const choices = schemas.flatMap(ownFields).map(([name, schema]) => [name, choicesOf(schema)] as const);
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        query: parameters.filter((one) => one.in === 'query').map(({ name }) => name),
        headers: parameters.filter((one) => one.in === 'header').map(({ name }) => name),
        fields: [...new Set(schemas.flatMap((schema) => [...fieldsOf(schema, '')]))],
        choices: Object.fromEntries(choices.filter(([, values]) => values.length > 1)),
        required: schemas.flatMap((schema) => (schema.$ref ? resolved(schema) : schema).required ?? []),
      };
    }),
  );
}
