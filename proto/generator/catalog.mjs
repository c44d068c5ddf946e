// The catalog: the facts of all releases that the project has followed, merged into one. A fact that a later release no
// longer contains stays in the catalog, with a mark, because callers may still use its proto.
//
// The catalog has no descriptions: upstream's sentences do not become part of the project.

/**
 * A member of a message. `kind` is one of
 *   string, bool, bytes, uint64, int64 (numbers as text), uint32, int32, map, json,
 *   the name of a definition, the name of a member ("v1Foo.status") if its values are listed texts,
 * and ends in "[]" for a list. Only the following differ from release to release:
 *   required      the member was required in each release since its message was first published
 *   added         the release that added the member to its message
 *   gone          the release that no longer contained the member; it is then not required
 *   kinds         how many kinds the member has had, if more than one
 * @typedef {{kind: string, required?: true, added?: string, gone?: string, kinds?: number}} CatalogMember
 *
 * One version of an operation: a submit has an activity type and parameters, a query has a request and a response.
 * @typedef {{type?: string, parameters?: string, appProofs?: boolean, request?: string, response?: string,
 *   since: string, gone?: string}} OperationVersion
 *
 * @typedef {object} Catalog
 * @property {{version: string, day: string, integrity: string}[]} releases
 * @property {Object<string, OperationVersion[]>} operations by path
 * @property {Object<string, {members: Object<string, CatalogMember>, added?: string}>} messages by definition; `added`
 *   is the release that added it, if it was not the first
 * @property {Object<string, {values: Object<string, {added?: string, gone?: string}>}>} enums by definition or member
 */

/** The definitions whose members are the intents and the results of all activities. */
export const activityOneofs = ['v1Intent', 'v1Result'];

/** A catalog that has followed no release. */
export const emptyCatalog = () => ({ releases: [], operations: {}, messages: {}, enums: {} });

const submitMembers = new Set(['type', 'timestampMs', 'organizationId', 'parameters', 'generateAppProofs']);
const isSubmit = (path) => path.startsWith('/public/v1/submit/');

/** The name of a scalar's kind in the catalog. */
function scalar({ kind, format }, place) {
  if (kind === 'bool' || kind === 'map' || kind === 'json') return kind;
  if (kind === 'number') {
    // Upstream writes every 64-bit number as text, so a number of the format int64 is an unsigned one of 32 bits.
    const known = { int32: 'int32', int64: 'uint32' }[format];
    if (known) return known;
  } else {
    const known = { undefined: 'string', uint64: 'uint64', int64: 'int64', byte: 'bytes' }[String(format)];
    if (known) return known;
  }
  throw new Error(`${place}: the generator does not know the format ${format}`);
}

/** Merges one release after another into a catalog, and notes what changed, in words. */
class Merge {
  constructor(catalog, published, release) {
    this.catalog = catalog;
    this.published = published;
    this.release = release;
    this.isFirst = catalog.releases.length === 0;
    this.changes = [];
    this.seen = new Set();
  }

  run() {
    const { catalog, published } = this;
    const paths = new Set(published.operations.map(({ path }) => path));
    for (const operation of published.operations) {
      if (isSubmit(operation.path)) this.submit(operation);
      else this.query(operation);
    }
    for (const [path, versions] of Object.entries(catalog.operations)) {
      for (const version of versions) {
        if (paths.has(path) || version.gone) continue;
        version.gone = this.release.version;
        this.note(`${path} is no longer published.`);
      }
    }
    for (const definition of activityOneofs) this.definition(definition);
    catalog.releases.push(this.release);
    return this.changes;
  }

  note(text) {
    if (!this.isFirst) this.changes.push(text);
  }

  members(definition) {
    return this.published.messages.get(definition).members;
  }

  submit({ path, request }) {
    const members = this.members(request);
    const other = members.find(({ name }) => !submitMembers.has(name));
    if (other) throw new Error(`${path}: the generator does not know the member ${other.name} of a submit`);
    const member = (name) => members.find((one) => one.name === name);
    const facts = {
      type: member('type').kind.values[0],
      parameters: member('parameters').kind.name,
      appProofs: member('generateAppProofs') !== undefined,
    };
    this.definition(facts.parameters);
    this.version(path, facts, (version) => version.type === facts.type, `activity type ${facts.type}`);
  }

  query({ path, request, response }) {
    if (request === undefined) throw new Error(`${path}: the operation has no body`);
    this.definition(request);
    this.definition(response);
    this.version(path, { request, response }, () => true, 'query');
  }

  /** Adds a version of an operation, or compares it with the one in the catalog that `isSame` finds. */
  version(path, facts, isSame, text) {
    const versions = (this.catalog.operations[path] ??= []);
    const known = versions.find(isSame);
    if (!known) {
      versions.push({ ...facts, since: this.release.day });
      this.note(versions.length === 1 ? `${path} is new.` : `${path} has a new version: ${text}.`);
      return;
    }
    this.revive(known, path);
    for (const [key, value] of Object.entries(facts)) {
      if (known[key] === value) continue;
      // The messages of a method keep their fields, so they cannot become those of another definition.
      if (key !== 'appProofs')
        throw new Error(`${path}: ${key} was ${known[key]}, and now is ${value}: decide by hand`);
      this.note(`${path}: generateAppProofs is ${value ? 'new' : 'no longer published'}.`);
      known.appProofs = true;
    }
  }

  /** Removes the mark of a fact that the catalog no longer had. */
  revive(known, place) {
    if (!known.gone) return;
    delete known.gone;
    this.note(`${place} is published again.`);
  }

  /** Merges a definition, and all definitions that it names. */
  definition(name) {
    if (this.seen.has(name)) return;
    this.seen.add(name);
    const values = this.published.enums.get(name)?.values;
    if (values) this.enum(name, values);
    else if (this.published.messages.has(name)) this.message(name);
    else if (!this.published.aliases.has(name)) throw new Error(`the definition ${name} is missing`);
  }

  message(name) {
    const isNew = !this.catalog.messages[name];
    const message = (this.catalog.messages[name] ??= {
      members: {},
      ...(!this.isFirst && { added: this.release.version }),
    });
    const present = new Set();
    for (const member of this.members(name)) {
      present.add(member.name);
      this.member(name, message, member, isNew);
    }
    for (const [key, member] of Object.entries(message.members)) {
      if (present.has(key) || member.gone) continue;
      member.gone = this.release.version;
      if (member.required) {
        delete member.required;
        member.added = this.release.version;
      }
      this.note(`${name}.${key} is no longer published.`);
    }
  }

  member(owner, message, { name, kind, required }, isNew) {
    const place = `${owner}.${name}`;
    const text = this.kind(place, kind);
    const known = message.members[name];
    if (!known) {
      const isRequired = required && isNew && !activityOneofs.includes(owner);
      message.members[name] = {
        kind: text,
        ...(isRequired && { required }),
        ...(!isNew && { added: this.release.version }),
      };
      if (!isNew) this.note(`${place} is new: ${text}${required ? ', required' : ''}.`);
      return;
    }
    this.revive(known, place);
    if (known.kind !== text) {
      this.note(`${place} was of kind ${known.kind}, and now is ${text}. The type has no new version.`);
      known.kind = text;
      known.kinds = (known.kinds ?? 1) + 1;
      // The new field replaces the old one, which compiled callers set, so it must not be required of them.
      if (known.required) known.added = this.release.version;
      delete known.required;
    }
    if (known.required && !required) {
      this.note(`${place} is no longer required.`);
      delete known.required;
    } else if (!known.required && required && !activityOneofs.includes(owner) && !known.added) {
      this.note(
        `${place} is required in this release. Its proto field stays optional, so that older callers can omit it.`,
      );
      known.added = this.release.version;
    }
  }

  /** Returns the kind of a member as the catalog has it, and merges the definition that it names. */
  kind(place, kind) {
    if (kind.kind === 'list') {
      const element = this.kind(place, kind.of);
      if (element.endsWith('[]')) throw new Error(`${place}: a proto cannot have a list of lists`);
      return `${element}[]`;
    }
    if (kind.kind === 'literals') {
      this.enum(place, kind.values);
      return place;
    }
    if (kind.kind !== 'definition') return scalar(kind, place);
    this.definition(kind.name);
    const alias = this.published.aliases.get(kind.name);
    return alias ? this.kind(place, alias) : kind.name;
  }

  enum(name, values) {
    const isNew = !this.catalog.enums[name];
    const known = (this.catalog.enums[name] ??= { values: {} }).values;
    for (const value of values) {
      if (known[value]) this.revive(known[value], `${name} ${value}`);
      else {
        known[value] = isNew ? {} : { added: this.release.version };
        if (!isNew) this.note(`${name} has a new value: ${value}.`);
      }
    }
    for (const [value, facts] of Object.entries(known)) {
      if (values.includes(value) || facts.gone) continue;
      facts.gone = this.release.version;
      this.note(`${name} no longer has the value ${value}.`);
    }
  }
}

/**
 * Merges a release into `catalog`.
 * @param {Catalog} catalog
 * @param {import('./published.mjs').Published} published what the release publishes
 * @param {{version: string, day: string, integrity: string}} release
 * @returns {string[]} what changed since the release before, in sentences. Empty for the first release
 */
export function mergeRelease(catalog, published, release) {
  return new Merge(catalog, published, release).run();
}
