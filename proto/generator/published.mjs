// Reads the types that upstream publishes: the paths of its API, and the messages and enums of the requests and
// responses. The types are TypeScript that openapi-typescript makes from upstream's OpenAPI description.
import { load } from './packages.mjs';

/** @type {typeof import('typescript')} */
const ts = load('typescript');

/**
 * The kinds of a member's value:
 *   {kind: 'string' | 'bool' | 'number', format}    a scalar; the format is a word of OpenAPI, such as 'uint64', or unset
 *   {kind: 'definition', name}                      a message or an enum
 *   {kind: 'literals', values}                      one of the listed texts
 *   {kind: 'map'}                                   an object whose members are texts
 *   {kind: 'json'}                                  any JSON object
 *   {kind: 'list', of}                              a list of values of another kind
 * @typedef {object} Kind
 * @typedef {{name: string, required: boolean, kind: Kind}} Member
 * @typedef {{members: Member[]}} PublishedMessage
 * @typedef {{values: string[]}} PublishedEnum
 * @typedef {{path: string, request: string, response: string}} PublishedOperation
 * @typedef {{operations: PublishedOperation[], messages: Map<string, PublishedMessage>, enums: Map<string, PublishedEnum>,
 *   aliases: Map<string, Kind>}} Published what a release publishes; the aliases are definitions that are neither a message
 *   nor an enum
 */

/** The format that a comment states for its member, or undefined. */
function formatOf(node) {
  const text = node.jsDoc?.map((doc) => ts.getTextOfJSDocComment(doc.comment) ?? '').join('\n') ?? '';
  return /Format: (\w+)/.exec(text)?.[1];
}

const literal = (type) =>
  ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal) ? type.literal.text : undefined;

const isNull = (type) => ts.isLiteralTypeNode(type) && type.literal.kind === ts.SyntaxKind.NullKeyword;

/** The texts that a type consists of, or undefined if it is not only texts. A member that is null counts as absent. */
function literals(type) {
  const values = (ts.isUnionTypeNode(type) ? [...type.types] : [type]).filter((one) => !isNull(one)).map(literal);
  return values.includes(undefined) ? undefined : values;
}

function kindOf(type, format, place) {
  if (ts.isArrayTypeNode(type)) return { kind: 'list', of: kindOf(type.elementType, format, place) };
  if (ts.isParenthesizedTypeNode(type)) return kindOf(type.type, format, place);
  switch (type.kind) {
    case ts.SyntaxKind.StringKeyword:
      return { kind: 'string', format };
    case ts.SyntaxKind.BooleanKeyword:
      return { kind: 'bool' };
    case ts.SyntaxKind.NumberKeyword:
      return { kind: 'number', format };
    default:
  }
  if (ts.isIndexedAccessTypeNode(type)) return { kind: 'definition', name: literal(type.indexType) };
  if (ts.isIntersectionTypeNode(type)) return { kind: 'json' };
  const values = literals(type);
  if (values) return { kind: 'literals', values };
  if (ts.isTypeLiteralNode(type) && type.members.length === 1 && ts.isIndexSignatureDeclaration(type.members[0])) {
    if (type.members[0].type.kind === ts.SyntaxKind.StringKeyword) return { kind: 'map' };
    return { kind: 'json' };
  }
  throw new Error(`${place}: the generator does not know the type ${type.getText()}`);
}

/** The name of a member, with "{operator}" for upstream's name. Throws if the name is not a plain one. */
function memberName(node) {
  const text = node.name.text.replace(/^turnkey$/, '{operator}');
  if (text === '{operator}') return text;
  if (!/^[@a-zA-Z][a-zA-Z0-9]*$/.test(text)) throw new Error(`the member name ${text} is not plain`);
  return text;
}

function messageOf(name, type) {
  const members = [];
  for (const node of type.members) {
    if (ts.isIndexSignatureDeclaration(node)) {
      if (members.length > 0) throw new Error(`${name} has named members and others`);
      continue;
    }
    members.push({
      name: memberName(node),
      required: node.questionToken === undefined,
      kind: kindOf(node.type, formatOf(node), `${name}.${node.name.text}`),
    });
  }
  return { members };
}

const property = (type, name) => type.members.find((node) => node.name?.getText().replace(/['"]/g, '') === name)?.type;

/** The key by which a type names another, such as the definition `v1GetUserRequest`. */
const reference = (type) => literal(type.indexType);

/**
 * Reads published types.
 * @param {string} text the content of public_api.types.d.ts
 * @returns {Published}
 */
export function readPublished(text) {
  const source = ts.createSourceFile('public_api.types.d.ts', text, ts.ScriptTarget.Latest, true);
  const types = new Map(source.statements.filter(ts.isTypeAliasDeclaration).map((node) => [node.name.text, node.type]));
  const messages = new Map();
  const enums = new Map();
  const aliases = new Map();
  for (const node of types.get('definitions').members) {
    const name = node.name.text;
    const values = literals(node.type);
    if (values) enums.set(name, { values });
    else if (ts.isTypeLiteralNode(node.type)) messages.set(name, messageOf(name, node.type));
    else aliases.set(name, kindOf(node.type, formatOf(node), name));
  }
  const bodies = new Map(types.get('operations').members.map((node) => [node.name.text, node.type]));
  const operations = types.get('paths').members.flatMap((node) => {
    // The other paths serve upstream's own code generation: they have no body.
    if (!/^\/public\/v1\/(query|submit)\//.test(node.name.text)) return [];
    const post = node.type.members.find((member) => member.name.getText() === 'post');
    const operation = bodies.get(reference(post.type));
    const response = operation.members.find((member) => member.name.getText() === 'responses').type;
    const success = response.members.find((member) => member.name.getText() === '200').type;
    return [
      {
        path: node.name.text,
        request: reference(property(property(property(operation, 'parameters'), 'body'), 'body')),
        response: reference(property(success, 'schema')),
      },
    ];
  });
  return { operations, messages, enums, aliases };
}
