// Reads the structs and enums that Rust source text declares. It reads only the part of Rust that generated code uses:
// plain structs, enums, and modules. It skips functions.

const TOKEN = /\s+|\/\/[^\n]*|"(?:[^"\\]|\\.)*"|r#\w+|\w+|::|=>|->|'\w+|[^\s\w]/gy;

/** A comment that holds the rules of the field after it, as one of the client's own code generators wrote it. */
const RULES = /^\/\/\/ @inject_tag: validate:"(.*)"$/;

/**
 * @typedef {object} Field
 * @property {string} name as in Rust, without `r#`
 * @property {string} type without white space
 * @property {string} [rules] the validator's rules, such as `required,uuid`
 *
 * @typedef {object} Variant
 * @property {string} name
 * @property {string} [type] the type that the variant contains
 * @property {string} [text] the text that stands for the variant outside Rust
 *
 * @typedef {object} Declarations
 * @property {Map<string, Field[]>} structs by name; a name in a module has the form `module::Name`
 * @property {Map<string, Variant[]>} enums
 */

/** @returns {Declarations} */
export function declarationsIn(text) {
  const reader = new Reader(text);
  reader.items('');
  return { structs: reader.structs, enums: reader.enums };
}

function tokensOf(text) {
  return [...text.matchAll(TOKEN)]
    .map(([token]) => token)
    .filter((token) => !/^\s/.test(token) && (!token.startsWith('//') || RULES.test(token)));
}

class Reader {
  structs = new Map();
  enums = new Map();
  #at = 0;

  constructor(text) {
    this.tokens = tokensOf(text);
  }

  get next() {
    return this.tokens[this.#at];
  }

  take() {
    const token = this.next;
    if (token === undefined) throw new Error('the Rust text ends within a declaration');
    this.#at += 1;
    return token;
  }

  expect(token) {
    const found = this.take();
    if (found !== token) throw new Error(`the Rust text has "${found}" instead of "${token}"`);
  }

  /** The items of a module, up to its closing brace or the end of the text. */
  items(prefix) {
    while (this.next !== undefined && this.next !== '}') {
      this.rulesBefore();
      const keyword = this.take();
      if (keyword === 'struct') this.structs.set(prefix + this.take(), this.fields());
      else if (keyword === 'enum') this.enums.set(prefix + this.take(), this.variants());
      else if (keyword === 'mod') this.module(prefix + this.take());
      else if (keyword === 'impl') this.implementation(prefix);
      else this.skipItem(keyword);
    }
  }

  module(name) {
    if (this.next === ';') return void this.take();
    this.expect('{');
    this.items(`${name}::`);
    this.expect('}');
  }

  /** Takes the attributes and the visibility before an item, a field or a variant, and returns the field's rules. */
  rulesBefore() {
    let rules;
    for (;;) {
      if (this.next === '#') {
        this.take();
        this.group();
      } else if (RULES.test(this.next)) {
        [, rules] = RULES.exec(this.take());
      } else if (this.next === 'pub') {
        this.take();
        if (this.next === '(') this.group();
      } else {
        return rules;
      }
    }
  }

  fields() {
    if (this.next === ';') return (this.take(), []);
    this.expect('{');
    const fields = [];
    while (this.next !== '}') {
      const rules = this.rulesBefore();
      const name = this.take().replace(/^r#/, '');
      this.expect(':');
      fields.push({ name, type: this.type(), rules });
    }
    this.expect('}');
    return fields;
  }

  variants() {
    this.expect('{');
    const variants = [];
    while (this.next !== '}') {
      this.rulesBefore();
      const name = this.take();
      const type = this.next === '(' ? this.group().slice(1, -1) : undefined;
      variants.push({ name, type });
      this.type();
    }
    this.expect('}');
    return variants;
  }

  /** Adds the texts of an enum's variants, which a function of its implementation returns. */
  implementation(prefix) {
    const variants = this.enums.get(prefix + this.take());
    const body = this.group();
    for (const [, name, text] of body.matchAll(/Self::(\w+)=>\{?"([^"]+)"/g)) {
      variants.find((variant) => variant.name === name).text = text;
    }
  }

  /** The text up to the comma or the brace that ends a field or variant. Takes the comma. */
  type() {
    let text = '';
    for (let depth = 0; depth > 0 || (this.next !== ',' && this.next !== '}');) {
      depth += { '<': 1, '>': -1 }[this.next] ?? 0;
      text += this.take();
    }
    if (this.next === ',') this.take();
    return text;
  }

  /** The text from an opening bracket to the bracket that closes it. */
  group() {
    let text = '';
    let depth = 0;
    do {
      const token = this.take();
      depth += { '(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1 }[token] ?? 0;
      if (!RULES.test(token)) text += token;
    } while (depth > 0);
    return text;
  }

  /** Skips an item that declares no data: up to its semicolon, or the end of its block. */
  skipItem(first) {
    for (let token = first; token !== ';'; token = this.take()) {
      if (this.next !== '{') continue;
      this.group();
      if (first !== 'use') return;
    }
  }
}
