// The messages of typed methods and the JSON that upstream reads and writes, by the rules in options.proto: makes the
// request message from a body, and the JSON of a response from its message. Shares no code with the gateway.
import { operationOption, services } from './gateway.mjs';

/**
 * The methods of upstream's operations: name, types of the request and of the response, and option `operation`. The key
 * is the operation's path; if a path has several methods, for several versions of its activity type, the keys of the
 * later ones also have the type: "/public/v1/submit/execute_swap ACTIVITY_TYPE_EXECUTE_SWAP_V3".
 */
const typed = new Map();
for (const service of services()) {
  for (const method of service.methodsArray) {
    const option = operationOption(method);
    if (!option.path || option.general) continue;
    method.resolve();
    const { resolvedRequestType: request, resolvedResponseType: response } = method;
    const key = typed.has(option.path) ? `${option.path} ${option.activity_type}` : option.path;
    typed.set(key, { name: `${service.name}/${method.name}`, option, request, response });
  }
}

/** The keys of all operations that have a method. Below, `path` is such a key. */
export const typedPaths = [...typed.keys()];

/** The path of an operation with this key. */
export const pathOf = (key) => key.split(' ')[0];

/** The method ("Service/Method") of the operation at `path`. */
export const methodAt = (path) => typed.get(path).name;

/** The option `operation` of the method of the operation at `path`. */
export const optionAt = (path) => typed.get(path).option;

/** The type of the request message of the operation at `path`, as protobufjs represents it. */
export const requestTypeAt = (path) => typed.get(path).request;

/** The option of a field or value, such as json_name. */
export const optionOf = (options, name) => options?.[`(field).${name}`] ?? options?.[`(enum_value).${name}`];

/** The JSON name that protoc derives from the name of a field. */
const camel = (name) => name.replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** The name of a field's member in JSON. */
export const jsonNameOf = ({ name, options }) => optionOf(options, 'json_name') ?? camel(name);

/**
 * Returns the request message for the operation at `path`, whose JSON body is `body`. Fails if the message has no field
 * for a member, or if the field's type does not have the member's JSON form.
 */
export function requestAt(path, body) {
  const { name, option, request } = typed.get(path);
  const { type, ...members } = body;
  if (type !== option.activity_type) throw new Error(`${name} sends ${option.activity_type}, not ${type}`);
  return messageOf(request, members, name);
}

function messageOf(type, members, place) {
  const fields = new Map(type.fieldsArray.map((field) => [jsonNameOf(field), field.resolve()]));
  return Object.fromEntries(
    Object.entries(members).map(([member, value]) => {
      const field = fields.get(member);
      const inner = `${place}.${member}`;
      if (field === undefined) throw new Error(`${inner}: ${type.name} has no field for this member`);
      return [field.name, fieldOf(field, value, inner)];
    }),
  );
}

/**
 * The path that errors give to the field for a member of the body: "parameters.policies[0].notes" for
 * ['parameters', 'policies', '0', 'notes'].
 */
export function fieldPathAt(path, place) {
  let type = typed.get(path).request;
  return place.reduce((whole, name) => {
    if (/^[0-9]+$/.test(name)) return `${whole}[${name}]`;
    const field = fieldOfMember(type, name);
    type = field.resolvedType;
    return whole === '' ? field.name : `${whole}.${field.name}`;
  }, '');
}

const fieldOfMember = (type, name) => type.fieldsArray.find((each) => jsonNameOf(each) === name).resolve();

/**
 * Whether the field at such a place is a required text that may be empty and has no presence: the gateway sends an unset
 * field as an empty text.
 */
export function isSentIfUnset(path, place) {
  let type = typed.get(path).request;
  let field;
  for (const name of place.filter((each) => !/^[0-9]+$/.test(each))) {
    field = fieldOfMember(type, name);
    type = field.resolvedType;
  }
  const { repeated, options } = field;
  return !repeated && optionOf(options, 'may_be_empty') === true && !options.proto3_optional;
}

function fieldOf(field, value, place) {
  if (field.map) return expect(value, isObject(value), field, place);
  if (!field.repeated) return valueOf(field, value, place);
  expect(value, Array.isArray(value), field, place);
  return value.map((element, index) => valueOf(field, element, `${place}[${index}]`));
}

function valueOf(field, value, place) {
  if (optionOf(field.options, 'text_form') === 'TEXT_FORM_JSON') return JSON.stringify(value);
  const { resolvedType } = field;
  if (resolvedType?.fullName === '.google.protobuf.Timestamp') {
    return { seconds: value.seconds, nanos: Number(value.nanos) };
  }
  if (resolvedType?.values) {
    const name = Object.keys(resolvedType.values).find((each) => textOf(resolvedType, each) === value);
    return expect(name, name !== undefined, field, place);
  }
  if (resolvedType) return messageOf(resolvedType, expect(value, isObject(value), field, place), place);
  if (field.type === 'bytes') return Buffer.from(expect(value, typeof value === 'string', field, place), 'base64');
  return expect(value, SCALARS[field.type](value), field, place);
}

/** The JSON text of an enum's value. */
export const textOf = ({ valuesOptions }, name) => optionOf(valuesOptions?.[name], 'json_name') ?? name;

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

const isInteger = (value, min, max) => Number.isInteger(value) && value >= min && value <= max;
const isDigits = (value) => typeof value === 'string' && /^(0|[1-9][0-9]{0,19})$/.test(value);

/** Whether a JSON value has the form of a field's type. */
const SCALARS = {
  string: (value) => typeof value === 'string',
  bool: (value) => typeof value === 'boolean',
  uint64: (value) => isDigits(value) && BigInt(value) < 2n ** 64n,
  int64: (value) => /^-?[0-9]+$/.test(value) && BigInt.asIntN(64, BigInt(value)) === BigInt(value),
  uint32: (value) => isInteger(value, 0, 2 ** 32 - 1),
  int32: (value) => isInteger(value, -(2 ** 31), 2 ** 31 - 1),
};

function expect(value, fits, field, place) {
  if (!fits) throw new Error(`${place}: the field ${field.fullName} (${field.type}) cannot contain this value`);
  return value;
}

/**
 * Returns the JSON of the response of the operation at `path`, as plain values. Zero, false and empty values are not in
 * it if the fields have no presence.
 * @param {string} path
 * @param {object} response the decoded message
 * @param {string} operator upstream's name, which is a part of some names of members
 * @param {{newestNames?: boolean}} [options] which name a member has that upstream has renamed: its newest name, or its
 *   oldest one
 */
export const responseJson = (path, response, operator, { newestNames = false } = {}) =>
  jsonOf(typed.get(path).response, response, { operator, newestNames });

function jsonOf(type, message, context) {
  const isSecondName = (name) => otherNames(type, name, context).some((other) => other in message);
  return Object.fromEntries(
    Object.entries(message)
      .filter(([name]) => !isSecondName(name))
      .map(([name, value]) => {
        const field = type.fields[name].resolve();
        const json = (each) => jsonOfValue(field, each, context);
        const member = jsonNameOf(field).replace('{operator}', context.operator);
        return [member, field.repeated ? value.map(json) : json(value)];
      }),
  );
}

/** The fields that have the value of this one under a name that the JSON has instead, because upstream has renamed it. */
function otherNames(type, name, { newestNames }) {
  const older = optionOf(type.fields[name].options, 'replaces');
  const newer = type.fieldsArray.filter(({ options }) => optionOf(options, 'replaces') === name);
  return newestNames ? newer.map((field) => field.name) : older === undefined ? [] : [older];
}

function jsonOfValue(field, value, context) {
  const { resolvedType } = field;
  if (field.map) return value;
  if (optionOf(field.options, 'text_form')?.startsWith('TEXT_FORM_JSON')) return JSON.parse(value);
  if (resolvedType?.fullName === '.google.protobuf.Timestamp') {
    return { seconds: value.seconds ?? '0', nanos: String(value.nanos ?? 0) };
  }
  if (resolvedType?.values) return textOf(resolvedType, value);
  if (resolvedType) return jsonOf(resolvedType, value, context);
  return field.type === 'bytes' ? value.toString('base64') : value;
}
