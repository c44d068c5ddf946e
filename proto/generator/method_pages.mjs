// The files that list all methods of the API: a page for readers, and the config by which client libraries repeat calls.

/**
 * @typedef {object} ListedMethod
 * @property {string} service such as WalletService
 * @property {string} name
 * @property {boolean} streams
 * @property {string} first the first sentence of its comment
 * @property {(name: string) => string | undefined} option the value of an option of OperationRule
 */

/** Returns the methods of a proto in the format of `buf format`. @returns {ListedMethod[]} */
export function methodsIn(text) {
  const service = /^service (\w+)/m.exec(text)?.[1];
  const methods = text.matchAll(
    /((?:^ {2}\/\/[^\n]*\n)+) {2}rpc (\w+)\(\w+\) returns \((stream )?\w+\)(?: \{(.*?)^ {2}\}|;)/gms,
  );
  return [...methods].map(([, comment, name, stream, body = '']) => {
    const words = comment
      .replace(/^ {2}\/\/ ?/gm, '')
      .split('\n\n')[0]
      .replaceAll('\n', ' ')
      .trim();
    return {
      service,
      name,
      streams: stream !== undefined,
      first: words.split(/(?<=\.)\s/)[0],
      option: (option) => new RegExp(`^ {6}${option}: "?(.*?)"?$`, 'm').exec(body)?.[1],
    };
  });
}

const lower = (value, prefix) => value?.slice(prefix.length).toLowerCase();

const classOf = (method) => lower(method.option('policy_class'), 'POLICY_CLASS_');

function row(method) {
  const kind = lower(method.option('kind'), 'OPERATION_KIND_');
  const path = method.option('path')?.replace('/public/v1/', '');
  const wire = kind === 'local' ? '' : [path, method.option('activity_type')].filter(Boolean).join(', ');
  const ofClass = classOf(method) ?? (kind ? 'dangerous' : 'of the method prepared');
  const since = method.option('internal') ? 'internal' : (method.option('since') ?? '');
  return `| \`${method.service}/${method.name}\` | ${method.first} | ${ofClass} | ${since} | ${wire} |`;
}

/** Whether a reader may expect a class of the method that does not cover it. */
const surprises = (method) =>
  method.option('internal') !== undefined ||
  (method.option('kind') === 'OPERATION_KIND_QUERY' && classOf(method) === 'dangerous');

const surprise = (method, reason) =>
  `| \`${method.service}/${method.name}\` | ${classOf(method)} | ` +
  `${method.option('internal') ? 'yes' : ''} | ${reason} |`;

/**
 * The newest release of each source, ordered by day, with the number of its operations.
 * @param {import('./catalog.mjs').Catalog} catalog
 */
export function sourcesOf({ releases, operations }) {
  const newest = new Map(releases.map((release) => [release.source, release]));
  const byDay = [...newest.values()].sort((a, b) => a.day.localeCompare(b.day));
  return byDay.map(({ source, version, day }) => {
    const isWithout = ({ gone = [], behind = [] }) =>
      [...gone, ...behind].some((label) => label.startsWith(`${source} `));
    const count = Object.values(operations).filter((versions) => !versions.every(isWithout)).length;
    return { source, version, day, count };
  });
}

const sourceRow = ({ source, version, day, count }) => `| ${source} | ${version} | ${day} | ${count} |`;

/**
 * The page that lists all methods.
 * @param {ListedMethod[]} methods
 * @param {import('./catalog.mjs').Catalog} catalog
 * @param {(path: string) => string} reasonOf why the operation with a path has its policy class
 */
export function methodsPage(methods, catalog, reasonOf) {
  const typed = methods.filter(
    (method) => /^OPERATION_KIND_(SUBMIT|QUERY)$/.test(method.option('kind') ?? '') && !method.option('general'),
  );
  // Several versions of an operation have one path.
  const operations = [...new Map(typed.map((method) => [method.option('path'), method])).values()];
  const internal = operations.filter((method) => method.option('internal')).length;
  const surprising = typed.filter(surprises).map((method) => surprise(method, reasonOf(method.option('path'))));
  return `# Methods

All ${operations.length} operations that upstream has published as of ${catalog.releases.at(-1).day} have a method:

| [source](generator/README.md#sources) | release | day | operations |
|---|---|---|---|
${sourcesOf(catalog).map(sourceRow).join('\n')}

${operations.length - internal} operations are public, and upstream marks ${internal} as internal. \`proto/generator/update\` writes this page.

A grant names single methods, or policy classes. A grant of a class covers a method with a day in the column "since" only
if the config's \`class_grants_as_of\` is that day or later, and never an internal method.

Some queries are in class dangerous, for the reason that this table states. Upstream publishes the internal operations but
marks them as internal: no class covers them, so a grant must name them.

| method | policy class | internal | why it has this class |
|---|---|---|---|
${surprising.join('\n')}

These are all methods:

| method | what | policy class | since | upstream |
|---|---|---|---|---|
${methods.map(row).join('\n')}
`;
}

/**
 * The service config: client libraries repeat queries and unary methods of class events after UNAVAILABLE, and nothing
 * else.
 * @param {ListedMethod[]} methods
 */
export function serviceConfig(methods) {
  const repeated = methods.filter(
    ({ streams, option }) =>
      /^OPERATION_KIND_(QUERY|DISCOVERY)$/.test(option('kind') ?? '') ||
      (option('policy_class') === 'POLICY_CLASS_EVENTS' && !streams),
  );
  const names = repeated.map(
    ({ service, name }) => `        {"service": "stampgate.v1.${service}", "method": "${name}"}`,
  );
  return `{
  "methodConfig": [
    {
      "name": [
${names.join(',\n')}
      ],
      "retryPolicy": {
        "maxAttempts": 4,
        "initialBackoff": "0.2s",
        "maxBackoff": "2s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"]
      }
    }
  ]
}
`;
}
