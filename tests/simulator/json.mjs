// A strict JSON parser and a writer. Tests need the repeated member names and the exact spelling of numbers, which
// JSON.parse does not report.

const MAX_DEPTH = 64;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SPACE = /[ \t\n\r]*/y;
const ESCAPES = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** JSON text that is written unchanged. The parser returns numbers in this form, so that they keep their spelling. */
export class Raw {
  constructor(text) {
    this.text = text;
  }
}

export class JsonError extends Error {}

/**
 * Parses one JSON text. Objects have no prototype, numbers are Raw.
 * @param {string} text
 * @returns {{value: unknown, duplicates: string[]}} duplicates: the paths of repeated member names.
 */
export function parse(text) {
  const reader = new Reader(text);
  const value = reader.value('', 0);
  reader.space();
  if (reader.at !== text.length) reader.fail('text after the end of the document');
  return { value, duplicates: reader.duplicates };
}

/** Decodes UTF-8; throws a JsonError for other bytes. Keeps a byte order mark, which parse() refuses. */
export function decodeUtf8(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new JsonError('the document is not UTF-8');
  }
}

/** Writes a value; omits members that are undefined. */
export function stringify(value) {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(stringify).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringify(member)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

/** The path of a member, `parent.name`, as error messages write it. */
export function memberPath(parent, name) {
  return parent === '' ? name : `${parent}.${name}`;
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.duplicates = [];
  }

  fail(reason) {
    throw new JsonError(`${reason} at character ${this.at}`);
  }

  space() {
    SPACE.lastIndex = this.at;
    this.at += SPACE.exec(this.text)[0].length;
  }

  take(character) {
    this.space();
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  value(path, depth) {
    if (depth > MAX_DEPTH) this.fail('the document is nested too deeply');
    this.space();
    switch (this.text[this.at]) {
      case '{':
        return this.object(path, depth);
      case '[':
        return this.array(path, depth);
      case '"':
        return this.string();
      case 't':
        return this.literal('true', true);
      case 'f':
        return this.literal('false', false);
      case 'n':
        return this.literal('null', null);
      default:
        return this.number();
    }
  }

  object(path, depth) {
    const members = Object.create(null);
    this.at += 1;
    if (this.take('}')) return members;
    do {
      this.space();
      if (this.text[this.at] !== '"') this.fail('a member name was expected');
      const name = this.string();
      const inner = memberPath(path, name);
      if (name in members) this.duplicates.push(inner);
      if (!this.take(':')) this.fail('":" was expected');
      members[name] = this.value(inner, depth + 1);
    } while (this.take(','));
    if (!this.take('}')) this.fail('"," or "}" was expected');
    return members;
  }

  array(path, depth) {
    const elements = [];
    this.at += 1;
    if (this.take(']')) return elements;
    do {
      elements.push(this.value(`${path}[${elements.length}]`, depth + 1));
    } while (this.take(','));
    if (!this.take(']')) this.fail('"," or "]" was expected');
    return elements;
  }

  literal(word, value) {
    if (!this.text.startsWith(word, this.at)) this.fail('a value was expected');
    this.at += word.length;
    return value;
  }

  number() {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) this.fail('a value was expected');
    this.at += match[0].length;
    return new Raw(match[0]);
  }

  string() {
    this.at += 1;
    let plainFrom = this.at;
    let result = '';
    for (; ; this.at += 1) {
      const character = this.text[this.at];
      if (character === undefined || character < ' ') this.fail('a string is not closed or holds a control character');
      if (character !== '"' && character !== '\\') continue;
      result += this.text.slice(plainFrom, this.at);
      if (character === '"') break;
      result += this.escape();
      plainFrom = this.at + 1;
    }
    this.at += 1;
    if (!isWellFormed(result)) this.fail('a string holds half a surrogate pair');
    return result;
  }

  /** Reads an escape. Afterwards `at` is the position of the escape's last character. */
  escape() {
    this.at += 1;
    const character = this.text[this.at];
    if (character !== 'u') return ESCAPES[character] ?? this.fail('an escape is not known');
    const digits = this.text.slice(this.at + 1, this.at + 5);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.fail('an escape is not complete');
    this.at += 4;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }
}

/** String.prototype.isWellFormed, which Node 18 does not have. */
function isWellFormed(text) {
  return !/\p{Surrogate}/u.test(text);
}
