// Describes the generated services to @grpc/grpc-js, whose clients and servers do not know protobuf-es.
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DescMessage, DescMethod, DescService, Message } from '@bufbuild/protobuf';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

const serialize = (type: DescMessage) => (message: Message) => Buffer.from(toBinary(type, message));
const deserialize = (type: DescMessage) => (bytes: Buffer) => fromBinary(type, bytes);

/** The definition of a method for @grpc/grpc-js. */
export const methodDefinition = (method: DescMethod): MethodDefinition<Message, Message> => ({
  path: `/${method.parent.typeName}/${method.name}`,
  requestStream: false,
  responseStream: method.methodKind === 'server_streaming',
  requestSerialize: serialize(method.input),
  requestDeserialize: deserialize(method.input),
  responseSerialize: serialize(method.output),
  responseDeserialize: deserialize(method.output),
});

/**
 * The definition of a service, for `makeGenericClientConstructor` and `Server.addService` of @grpc/grpc-js. Its clients
 * and servers exchange the messages of `@stampgate/client/v1`.
 */
export const serviceDefinition = (service: DescService): ServiceDefinition =>
  Object.fromEntries(service.methods.map((method) => [method.localName, methodDefinition(method)]));
