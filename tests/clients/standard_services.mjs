// Clients of two standard gRPC services: grpc.health.v1 and grpc.reflection.v1alpha.
import { load } from './packages.mjs';

const protobuf = load('protobufjs');
const { FileDescriptorProto } = load('protobufjs/ext/descriptor');

const { root } = protobuf.parse(`
syntax = "proto3";
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse {
  enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
  ServingStatus status = 1;
}
message ServerReflectionRequest {
  oneof message_request { string file_containing_symbol = 4; string list_services = 7; }
}
message ServerReflectionResponse {
  message Files { repeated bytes file_descriptor_proto = 1; }
  message Services { repeated Service service = 1; }
  message Service { string name = 1; }
  message Error { int32 error_code = 1; string error_message = 2; }
  oneof message_response { Files files = 4; Services services = 6; Error error = 7; }
}
`, { keepCase: true });

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

/** Sends one request to the server reflection service and resolves to the response. */
function reflect(client, question) {
  const path = '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo';
  const [encode, decode] = [serializer('ServerReflectionRequest'), deserializer('ServerReflectionResponse')];
  return new Promise((resolve, reject) => {
    const stream = client.makeBidiStreamRequest(path, encode, decode);
    stream.on('data', resolve);
    stream.on('error', reject);
    stream.write(question);
    stream.end();
  });
}

/** Resolves to the full names of all services. */
export async function listServices(client) {
  const { services } = await reflect(client, { list_services: '*' });
  return services.service.map(({ name }) => name).sort();
}

/**
 * Resolves to the proto file that declares a symbol, as a FileDescriptorProto of protobufjs, or to undefined if there
 * is none.
 */
export async function describeSymbol(client, symbol) {
  const { files } = await reflect(client, { file_containing_symbol: symbol });
  return files && FileDescriptorProto.decode(files.file_descriptor_proto[0]);
}
