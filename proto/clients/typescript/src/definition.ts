// Describes the generated services to @grpc/grpc-js, whose clients and servers do not know protobuf-es.
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DescMessage, DescMethod, DescService, Message } from '@bufbuild/protobuf';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

type Definition = MethodDefinition<Message, Message>;

const definitions = new WeakMap<DescMethod, Definition>();

function codecOf(type: DescMessage) {
  return {
    serialize(message: Message): Buffer {
      const bytes = toBinary(type, message);
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    deserialize: (bytes: Buffer): Message => fromBinary(type, bytes),
  };
}

/** The definition of a method for @grpc/grpc-js. */
export function methodDefinition(method: DescMethod): Definition {
  const known = definitions.get(method);
  if (known) return known;
  const request = codecOf(method.input);
  const response = codecOf(method.output);
  const definition: Definition = {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming',
    responseStream: method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming',
    requestSerialize: request.serialize,
    requestDeserialize: request.deserialize,
    responseSerialize: response.serialize,
    responseDeserialize: response.deserialize,
  };
  definitions.set(method, definition);
  return definition;
}

/**
 * The definition of a service, for `makeGenericClientConstructor` and `Server.addService` of @grpc/grpc-js. Its clients
 * and servers exchange the messages of `@stampgate/client/v1`.
 */
export const serviceDefinition = (service: DescService): ServiceDefinition =>
  Object.fromEntries(service.methods.map((method) => [method.localName, methodDefinition(method)]));
