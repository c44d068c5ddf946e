// The elements of an API, as clients can see them: in files of operations, and in what server reflection returns.
import { load } from '../clients/packages.mjs';
import { ReflectionStream } from '../clients/standard_services.mjs';

const protobuf = load('protobufjs');
const { FileDescriptorProto, FileDescriptorSet } = load('protobufjs/ext/descriptor');

/** Adds a message and the elements in it. `scope` precedes its name. */
function addMessage(elements, message, scope) {
  const name = scope + message.name;
  elements.set(name, 'message');
  for (const { name: field, number, type, label, typeName } of message.field) {
    elements.set(`${name}.${field}`, [number, type, label, typeName].join(' '));
  }
  for (const nested of message.nestedType) addMessage(elements, nested, `${name}.`);
  for (const type of message.enumType) addEnum(elements, type, `${name}.`);
}

/** Adds an enum and its values. */
function addEnum(elements, { name, value }, scope) {
  elements.set(scope + name, 'enum');
  for (const { name: each, number } of value) elements.set(`${scope}${name}.${each}`, `${number}`);
}

/** stampgate's protos in a serialized FileDescriptorSet, as FileDescriptorProtos of protobufjs. */
export const protosIn = (descriptors) =>
  FileDescriptorSet.decode(descriptors).file.filter(({ name }) => name.startsWith('stampgate/'));

/**
 * The definitions of all elements of protos, by their names: Message, Message.field, Enum, Enum.VALUE and Service/Method.
 * @returns {Map<string, string>}
 */
export function elementsOf(protos) {
  const elements = new Map();
  for (const { messageType, enumType, service } of protos) {
    for (const message of messageType) addMessage(elements, message, '');
    for (const type of enumType) addEnum(elements, type, '');
    for (const { name, method } of service) {
      for (const one of method) elements.set(`${name}/${one.name}`, `${one.inputType} ${one.outputType}`);
    }
  }
  return elements;
}

/** The name of a serialized FileDescriptorProto, which is its first field. Decoding the whole file takes much longer. */
function nameOf(bytes) {
  const reader = protobuf.Reader.create(bytes);
  reader.uint32();
  return reader.string();
}

/** Resolves to the protos with these names that a gateway serves. */
export async function protosServed(client, names) {
  const stream = new ReflectionStream(client);
  const served = new Map();
  for (const name of names) {
    if (served.has(name)) continue; // a response has all files that the file imports
    const response = await stream.ask({ file_by_filename: name });
    for (const bytes of response.files?.file_descriptor_proto ?? []) served.set(nameOf(bytes), bytes);
  }
  stream.end();
  return names.flatMap((name) => (served.has(name) ? [FileDescriptorProto.decode(served.get(name))] : []));
}
