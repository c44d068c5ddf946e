// Reads upstream's packages for Python: the definitions of the types, and the operations that the client calls. Both
// are generated Python, of which the reader knows the few forms that occur. It executes none of it.
import { plainName, typeWithVersionOf } from './published.mjs';

/** The base classes of the definitions. All other classes serve the client. */
const MESSAGE = 'TurnkeyBaseModel';
const ENUM = 'str, Enum';

const ANY = 'protobufAny';

/** Definitions begin with the package of upstream's API that defines them. The classes of the client do not. */
const isDefinition = (name) => /^[a-z]\w*[A-Z]/.test(name);

const SCALARS = { str: { kind: 'string' }, bool: { kind: 'bool' }, int: { kind: 'number', format: 'unstated' } };

/** The class bodies of Python text by name, with the base classes. */
function classesIn(text) {
  const classes = new Map();
  for (const [, name, base, body] of text.matchAll(/^class (\w+)\(([^)]*)\):\n((?: .*\n|\n)*)/gm))
    classes.set(name, { base, body });
  return classes;
}

/** The declarations in the body of a class: each begins with a name that is indented once. */
const declarationsIn = (body) => body.split(/^ {4}(?=\w)/m).slice(1);

const withoutDescription = (text) => text.replace(/description=(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/, '');

/** @returns {import('./published.mjs').Kind} */
function kindOf(type, place) {
  const list = /^List\[(.*)\]$/.exec(type);
  if (list) return { kind: 'list', of: kindOf(list[1], place) };
  if (type in SCALARS) return SCALARS[type];
  if (type === 'Dict[str,Any]' || type === 'Any') return { kind: 'json' };
  if (/^\w+$/.test(type) && isDefinition(type)) return { kind: 'definition', name: type };
  throw new Error(`${place}: the reader of Python does not know the type ${type}`);
}

/** The members of a message's class. @returns {import('./published.mjs').Member[]} */
function membersOf(owner, body) {
  return declarationsIn(body).flatMap((declaration) => {
    if (declaration.trim() === 'pass') return [];
    const [, variable, annotation, value = ''] = /^(\w+):([^=]*)(?:=([^]*))?$/.exec(withoutDescription(declaration));
    const type = annotation.replace(/\s/g, '').replace(/,\]/g, ']');
    const optional = /^Optional\[(.*)\]$/.exec(type);
    const name = plainName(/alias="([^"]*)"/.exec(value)?.[1] ?? variable);
    return [{ name, required: !optional, kind: kindOf(optional?.[1] ?? type, `${owner}.${name}`) }];
  });
}

/** The activity type, and the class of the response, of each path that the client's methods call. */
function callsIn(client) {
  const calls = new Map();
  for (const method of client.split(/^ {4}def /m).slice(1)) {
    const path = /"(\/public\/v1\/(?:query|submit)\/\w+)"/.exec(method)?.[1];
    const answer = /-> (\w+):/.exec(method)?.[1];
    // Each operation has a second method, which only stamps the request.
    if (!path || answer === 'SignedRequest') continue;
    calls.set(path, { type: /"type": "(\w+)"/.exec(method)?.[1], answer });
  }
  return calls;
}

const only = (found, text) => {
  if (found.length !== 1) throw new Error(`${text} is not one definition: ${found.join(', ') || 'there is none'}`);
  return found[0];
};

/** The definition with the members of a class of the client. */
function definitionLike(name, answer, classes, messages) {
  if (messages.has(`v1${name}`)) return `v1${name}`;
  const sameAs = JSON.stringify(membersOf(answer, classes.get(answer).body));
  const same = [...messages].filter(
    ([each, { members }]) => each.endsWith('Response') && JSON.stringify(members) === sameAs,
  );
  return only(
    same.map(([each]) => each),
    `the response ${answer}`,
  );
}

/**
 * Reads the packages.
 * @param {string} types the text of types.py in turnkey-sdk-types
 * @param {string} client the text of client.py in turnkey-http
 * @returns {import('./published.mjs').Published}
 */
export function readPython(types, client) {
  const classes = classesIn(types);
  /** @type {Map<string, import('./published.mjs').PublishedMessage>} */
  const messages = new Map();
  const enums = new Map();
  const aliases = new Map();
  for (const [name, { base, body }] of classes) {
    // Any object at all: the class states only one of its members.
    if (name === ANY) aliases.set(name, { kind: 'json' });
    if (!isDefinition(name) || aliases.has(name)) continue;
    if (base === ENUM) enums.set(name, { values: [...body.matchAll(/"(.*)"/g)].map(([, value]) => value) });
    else if (base === MESSAGE) messages.set(name, { members: membersOf(name, body) });
    else throw new Error(`${name}: the reader of Python does not know the base class ${base}`);
  }
  const operations = [...callsIn(client)].map(([path, { type, answer }]) => {
    const name = answer.replace(/Response$/, '');
    const request = only(
      [`v1${name}Request`].filter((each) => messages.has(each)),
      `the request of ${path}`,
    );
    if (type === undefined)
      return { path, request, response: definitionLike(`${name}Response`, answer, classes, messages) };
    const member = (/** @type {string} */ each) => messages.get(request).members.find((one) => one.name === each);
    member('type').kind = { kind: 'literals', values: [typeWithVersionOf(type, member('parameters').kind.name)] };
    return { path, request, response: 'v1ActivityResponse' };
  });
  return { operations, messages, enums, aliases };
}
