// Clients of two standard gRPC services: grpc.health.v1, and grpc.reflection in the versions v1 and v1alpha.
import { load } from './packages.mjs';

const protobuf = load('protobufjs');
const { FileDescriptorProto } = load('protobufjs/ext/descriptor');

const { root } = protobuf.parse(
  `
syntax = "proto3";
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse {
  enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
  ServingStatus status = 1;
}
message ServerReflectionRequest {
  message Extension { string containing_type = 1; int32 extension_number = 2; }
  string host = 1;
  oneof message_request {
    string file_by_filename = 3;
    string file_containing_symbol = 4;
    Extension file_containing_extension = 5;
    string all_extension_numbers_of_type = 6;
    string list_services = 7;
  }
}
message ServerReflectionResponse {
  message Files { repeated bytes file_descriptor_proto = 1; }
  message Extensions { string base_type_name = 1; repeated int32 extension_number = 2; }
  message Services { repeated Service service = 1; }
  message Service { string name = 1; }
  message Error { int32 error_code = 1; string error_message = 2; }
  string valid_host = 1;
  ServerReflectionRequest original_request = 2;
  oneof message_response { Files files = 4; Extensions extensions = 5; Services services = 6; Error error = 7; }
}
`,
  { keepCase: true },
);

const serializer = (name) => (message) => root.lookupType(name).encode(message).finish();
const deserializer = (name) => {
  const type = root.lookupType(name);
  return (bytes) => type.toObject(type.decode(bytes), { enums: String, defaults: true });
};

const health = ['HealthCheckRequest', 'HealthCheckResponse'];

/** Resolves to the status of the service with this full name, or of the whole server (""). */
export function checkHealth(client, service = '') {
  const [encode, decode] = [serializer(health[0]), deserializer(health[1])];
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest('/grpc.health.v1.Health/Check', encode, decode, { service }, (error, response) =>
      error ? reject(error) : resolve(response.status),
    );
  });
}

/** Starts a stream of the server's status and returns it as a call of grpc-js. */
export function watchHealth(client, service = '') {
  const [encode, decode] = [serializer(health[0]), deserializer(health[1])];
  return client.makeServerStreamRequest('/grpc.health.v1.Health/Watch', encode, decode, { service });
}

const decodeReflection = deserializer('ServerReflectionResponse');

/** A stream of server reflection, with at most one request at a time. */
export class ReflectionStream {
  #call;
  /** @type {(bytes: Buffer) => void} */
  #answered = () => {};

  /** @param {string} [version] of the service, "v1" or "v1alpha" */
  constructor(client, version = 'v1') {
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
    this.#call = client.makeBidiStreamRequest(path, serializer('ServerReflectionRequest'), (bytes) => bytes);
    this.#call.on('data', (bytes) => this.#answered(bytes));
    this.#call.on('error', () => {}); // `ended` has the status too
    /** Resolves to the status with which the stream ends, as an object of grpc-js. */
    this.ended = new Promise((resolve) => this.#call.on('status', resolve));
  }

  /** Sends a request and resolves to the bytes of its response. If the stream ends instead, rejects with the status. */
  askBytes(request) {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.ended.then((status) => reject(Object.assign(new Error(status.details), status)));
      this.#call.write(request);
    });
  }

  /** Does the same as askBytes(), and decodes the response. */
  ask = async (request) => decodeReflection(await this.askBytes(request));

  /** Ends the client's side. */
  end = () => this.#call.end();
}

/** Sends one request to the server reflection service and resolves to the response. */
export async function reflect(client, request, version) {
  const stream = new ReflectionStream(client, version);
  try {
    return await stream.ask(request);
  } finally {
    stream.end();
  }
}

/** Resolves to the full names of all services. */
export async function listServices(client, version) {
  const { services } = await reflect(client, { list_services: '*' }, version);
  return services.service.map(({ name }) => name).sort();
}

/**
 * Resolves to the proto file that declares a symbol and the files on which it depends, as FileDescriptorProtos of
 * protobufjs, or to undefined if there is no such symbol.
 */
export async function describeFiles(client, symbol, version) {
  const { files } = await reflect(client, { file_containing_symbol: symbol }, version);
  return files?.file_descriptor_proto.map((bytes) => FileDescriptorProto.decode(bytes));
}

/** Resolves to the first file of describeFiles(), which declares the symbol. */
export const describeSymbol = async (client, symbol) => (await describeFiles(client, symbol))?.[0];

/**
 * Returns a root of protobufjs that consists of these files alone. Throws an error if a file uses a type that no file
 * declares.
 */
export const rootOf = (files) => protobuf.Root.fromDescriptor({ file: files }).resolveAll();
