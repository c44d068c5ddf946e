// Makes an OpenAPI document, in upstream's form, from the generator's catalog: a newer release of upstream for tests.

/** The schema of each kind of value that is not a definition. */
const SCHEMAS = {
  string: { type: 'string' },
  bytes: { type: 'string', format: 'byte' },
  uint64: { type: 'string', format: 'uint64' },
  int64: { type: 'string', format: 'int64' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  // Upstream's numbers of 64 bits are texts.
  uint32: { type: 'integer', format: 'int64' },
  map: { type: 'object', additionalProperties: { type: 'string' } },
  json: { type: 'object' },
};

const refTo = (name) => ({ $ref: `#/definitions/${name}` });

/** The entries of a part of the catalog that upstream still publishes. */
const published = (part) => Object.entries(part).filter(([, { gone }]) => gone === undefined);

/**
 * The document of a catalog.
 * @param {import('../../proto/generator/catalog.mjs').Catalog} catalog
 */
export function documentOf({ operations, messages, enums }) {
  const enumOf = (key) => ({ type: 'string', enum: published(enums[key].values).map(([value]) => value) });

  function schemaOf(kind) {
    if (kind.endsWith('[]')) return { type: 'array', items: schemaOf(kind.slice(0, -2)) };
    return SCHEMAS[kind] ?? (kind.includes('.') ? enumOf(kind) : refTo(kind));
  }

  const object = (properties, required = []) => ({ type: 'object', properties, required });

  const definitions = Object.fromEntries([
    ...published(messages).map(([name, message]) => {
      const members = published(message.members);
      const properties = members.map(([member, { kind }]) => [member.replace('{operator}', 'turnkey'), schemaOf(kind)]);
      const required = members.filter(([, one]) => one.required).map(([member]) => member);
      return [name, object(Object.fromEntries(properties), required)];
    }),
    ...Object.keys(enums)
      .filter((name) => !name.includes('.'))
      .map((name) => [name, enumOf(name)]),
  ]);

  /**
   * The name of the request of an operation. Defines the request of a submit, which the catalog does not have.
   * @param {string} path
   * @param {import('../../proto/generator/catalog.mjs').OperationVersion} version
   */
  function requestOf(path, { type, parameters, appProofs, request }) {
    if (request) return request;
    const name = `${path} request`;
    definitions[name] = object(
      {
        type: { type: 'string', enum: [type] },
        timestampMs: SCHEMAS.string,
        organizationId: SCHEMAS.string,
        parameters: refTo(parameters),
        ...(appProofs && { generateAppProofs: SCHEMAS.bool }),
      },
      ['type', 'timestampMs', 'organizationId', 'parameters'],
    );
    return name;
  }

  const paths = Object.entries(operations).flatMap(([path, versions]) => {
    const newest = versions.findLast(({ gone }) => gone === undefined);
    if (!newest) return [];
    const body = { in: 'body', schema: refTo(requestOf(path, newest)) };
    const responses = { 200: { schema: refTo(newest.response ?? 'v1ActivityResponse') } };
    return [[path, { post: { parameters: [body], responses } }]];
  });
  return { swagger: '2.0', paths: Object.fromEntries(paths), definitions };
}
