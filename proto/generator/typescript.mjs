// Reads the types in upstream's packages for JavaScript: TypeScript that openapi-typescript makes from upstream's
// OpenAPI document.
import { load } from './packages.mjs';
import { isOperation, plainName } from './published.mjs';

/** @type {typeof import('typescript')} */
const ts = load('typescript');

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

function messageOf(name, type) {
  const members = [];
  for (const node of type.members) {
    if (ts.isIndexSignatureDeclaration(node)) {
      if (members.length > 0) throw new Error(`${name} has named members and others`);
      continue;
    }
    members.push({
      name: plainName(node.name.text),
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
 * @returns {import('./published.mjs').Published}
 */
export function readTypeScript(text) {
  const source = ts.createSourceFile('public_api.types.d.ts', text, ts.ScriptTarget.Latest, true);
  /** @type {Map<string, any>} */
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
    if (!isOperation(node.name.text)) return [];
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
