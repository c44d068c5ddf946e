// A gRPC client of the gateway, built from proto/ at run time.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installed, root } from '../paths.mjs';
import { load } from './packages.mjs';

/** @type {typeof import('@grpc/grpc-js')} */
const grpc = load('@grpc/grpc-js');
/** @type {typeof import('protobufjs')} */
const protobuf = load('protobufjs');
load('protobufjs/ext/descriptor');

const tools = installed('tools', 'third_party/npm/package-lock.json');
const includes = [join(root, 'proto'), join(tools, 'node_modules/google-proto-files')];

/** The form of decoded messages: 64-bit numbers and enums are text, and absent fields are absent. */
const form = { longs: String, enums: String, bytes: Buffer };

/**
 * Reads protos. `files` and what they import are paths relative to `folder` or to the folders of the API's protos.
 * @param {string[]} files
 * @param {{folder?: string} & import('protobufjs').IParseOptions} [options]
 */
function loadTypes(files, { folder = includes[0], ...options } = {}) {
  const types = new protobuf.Root();
  const folders = [folder, includes[0], dirname(load.resolve('protobufjs')), includes[1]];
  types.resolvePath = (origin, target) =>
    folders.map((each) => join(each, target)).find((path) => existsSync(path)) ?? target;
  return types.loadSync(files, { keepCase: true, ...options });
}

/** Returns all services in a namespace. */
const servicesIn = (namespace) =>
  (namespace.nestedArray ?? []).flatMap((one) => (one instanceof protobuf.Service ? [one] : servicesIn(one)));

/** Returns the definition of a method for grpc-js. Looks up the messages when the method is called first. */
function definitionOf(method) {
  return {
    path: `/${method.parent.fullName.slice(1)}/${method.name}`,
    requestStream: Boolean(method.requestStream),
    responseStream: Boolean(method.responseStream),
    requestSerialize(request) {
      const { resolvedRequestType: type } = method.resolve();
      return Buffer.from(type.encode(type.fromObject(request)).finish());
    },
    responseDeserialize(bytes) {
      const { resolvedResponseType: type } = method.resolve();
      return type.toObject(type.decode(bytes), form);
    },
  };
}

/** Maps "Service/Method" to the definition of the method. */
const methodsOf = (types) =>
  new Map(
    servicesIn(types).flatMap(({ name, methodsArray }) =>
      methodsArray.map((method) => [`${name}/${method.name}`, definitionOf(method)]),
    ),
  );

const protoFiles = readdirSync(join(root, 'proto/stampgate/v1')).map((name) => `stampgate/v1/${name}`);

/** The definitions of all methods of the API and of the protos that addProtos() adds, by "Service/Method". */
export const methods = methodsOf(loadTypes(protoFiles));

/** Adds the services of more protos to `methods`. `files` are paths relative to `folder`. */
export function addProtos(folder, files) {
  for (const [name, method] of methodsOf(loadTypes(files, { folder }))) methods.set(name, method);
}

/** The definitions of all methods in a serialized FileDescriptorSet, by "Service/Method". call() accepts them too. */
export const methodsIn = (descriptors) =>
  // @ts-ignore protobufjs/ext/descriptor adds this function.
  methodsOf(protobuf.Root.fromDescriptor(descriptors).resolveAll());

/**
 * Opens a channel. Without `tls` the channel is plaintext. With TLS, `tls.ca` is the CA certificate; `tls` may also
 * contain a client certificate and its key. All are PEM.
 * @param {string} address
 * @param {{tls?: {ca: Buffer, cert?: Buffer, key?: Buffer}} & import('@grpc/grpc-js').ClientOptions} [options]
 */
export function connect(address, { tls, ...options } = {}) {
  const credentials = tls
    ? grpc.credentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)
    : grpc.credentials.createInsecure();
  // Each client has connections of its own. A gateway may get the port of an earlier, stopped gateway, and a shared
  // connection to that port may still wait before it connects again.
  return new grpc.Client(address, credentials, { 'grpc.use_local_subchannel_pool': 1, ...options });
}

/** Returns the encoded bytes of a request message. */
export const encode = (method, request) => methods.get(method).requestSerialize(request);

/**
 * Calls `method` and resolves to its response. If the call fails, rejects with the gRPC error. Its members `info`,
 * `badRequest` and `retryInfo` are the decoded google.rpc details, and `statusBytes` is the encoded google.rpc.Status.
 *
 * @param {import('@grpc/grpc-js').Client} client from connect()
 * @param {string | object} method "Service/Method", or a definition from methodsIn()
 * @param {object|Buffer} request a message, or bytes that are sent unchanged
 * @param {{deadlineMs?: number, metadata?: Record<string, string>, onCall?: (call: object) => void}} [options]
 */
export function call(client, method, request, options = {}) {
  const definition = typeof method === 'string' ? methods.get(method) : method;
  if (!definition) throw new Error(`no such method: ${method}`);
  const serialize = (message) => (Buffer.isBuffer(message) ? message : definition.requestSerialize(message));
  return new Promise((resolve, reject) => {
    const sent = client.makeUnaryRequest(
      definition.path,
      serialize,
      definition.responseDeserialize,
      request,
      metadataOf(options.metadata),
      { deadline: Date.now() + (options.deadlineMs ?? 20_000) },
      (error, response) => (error ? reject(withDetails(error)) : resolve(response)),
    );
    options.onCall?.(sent);
  });
}

/**
 * Starts a server-streaming call and yields its messages: `for await (const message of stream(...))`. Ends when the
 * call ends. If the call fails, throws the same error as call(). Leaving the loop, for example with `break`, cancels
 * the call.
 *
 * @param {import('@grpc/grpc-js').Client} client from connect()
 * @param {string} method
 * @param {object|Buffer} request
 * @param {{deadlineMs?: number, metadata?: Record<string, string>, onCall?: (call: object) => void}} [options] without
 *     `deadlineMs`, the call has no deadline
 */
export async function* stream(client, method, request, options = {}) {
  const definition = methods.get(method);
  if (!definition) throw new Error(`no such method: ${method}`);
  const serialize = (message) => (Buffer.isBuffer(message) ? message : definition.requestSerialize(message));
  const deadline = options.deadlineMs ? { deadline: Date.now() + options.deadlineMs } : {};
  const started = client.makeServerStreamRequest(
    definition.path,
    serialize,
    definition.responseDeserialize,
    request,
    metadataOf(options.metadata),
    deadline,
  );
  options.onCall?.(started);
  try {
    yield* started;
  } catch (error) {
    throw withDetails(error);
  } finally {
    started.on('error', () => {}); // ignores the error that the cancellation causes
    started.cancel();
  }
}

function metadataOf(entries = {}) {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(entries)) metadata.set(name, value);
  return metadata;
}

function withDetails(error) {
  const bytes = error.metadata?.get('grpc-status-details-bin')[0];
  if (!bytes) return error;
  error.statusBytes = bytes;
  const names = { ErrorInfo: 'info', BadRequest: 'badRequest', RetryInfo: 'retryInfo' };
  for (const detail of decode('google.rpc.Status', bytes).details ?? []) {
    const type = detail.type_url.split('/').pop();
    const name = names[type.split('.').pop()];
    if (name) error[name] = decode(type, detail.value);
  }
  return error;
}

const detailTypes = loadTypes(['google/rpc/status.proto', 'google/rpc/error_details.proto']);

function decode(type, bytes) {
  const found = detailTypes.lookupType(type);
  return found.toObject(found.decode(bytes), form);
}

/** Returns the services of the API, with options and comments, as protobufjs represents them. */
export const services = () => {
  const types = loadTypes(protoFiles, { alternateCommentMode: true });
  const ours = /** @type {import('protobufjs').Namespace} */ (types.lookup('stampgate.v1'));
  return ours.nestedArray.filter((member) => member instanceof protobuf.Service);
};

/** A method's option `operation`: kind, path, activity_type and so on. Empty for a method without this option. */
export const operationOption = ({ parsedOptions }) =>
  parsedOptions?.find((option) => '(operation)' in option)['(operation)'] ?? {};

/**
 * Returns the path of the first field of `request` that the request message of the method does not have, or undefined.
 */
export function misspeltField(method, request) {
  const types = loadTypes(protoFiles);
  const { service, name } = /^(?<service>.*)\/(?<name>.*)$/.exec(method).groups;
  const called = types.lookupService(`stampgate.v1.${service}`).methods[name];
  called.resolve();
  return firstUnknown(called.resolvedRequestType, request, '');
}

function firstUnknown(type, message, path) {
  for (const [name, value] of Object.entries(message)) {
    const field = type.fields[name]?.resolve();
    if (!field) return path + name;
    if (!(field.resolvedType instanceof protobuf.Type)) continue;
    const values = field.repeated || field.map ? Object.entries(value) : [['', value]];
    for (const [index, member] of values) {
      const unknown = firstUnknown(field.resolvedType, member, `${path}${name}${index && `[${index}]`}.`);
      if (unknown) return unknown;
    }
  }
  return undefined;
}

/** gRPC's status codes by name. */
export const code = grpc.status;
