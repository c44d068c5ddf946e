// The catalog: the facts of all releases that the project has followed, merged into one. A release is one of a source:
// upstream publishes the same API in several packages, of which some are ahead of others. A fact that the newest
// sources no longer contain stays in the catalog, with a mark, because callers may still use its proto.
//
// The catalog has no descriptions: upstream's sentences do not become part of the project.
import { versionOf } from './names.mjs';
import { Presence, absenceOf, labelOf } from './presence.mjs';

/**
 * @typedef {import('./presence.mjs').Absence} Absence
 *
 * A release of a source. The day is the one on which the release was published (UTC).
 * @typedef {{source: 'npm' | 'python' | 'crate' | 'openapi', version: string, day: string, integrity: string}} Release
 *
 * A member of a message. `kind` is one of
 *   string, bool, bytes, uint64, int64 (numbers as text), uint32, int32, map, json,
 *   the name of a definition, the name of a member ("v1Foo.status") if its values are listed texts,
 * and ends in "[]" for a list. Only the following differ from release to release:
 *   required      the member was required in each release that has it, since its message was first published; null if
 *                 no source stated whether it is when the member was added
 *   added         the release that added the member to its message, also if the member was gone meanwhile
 *   kinds         how many kinds the member has had, if more than one
 * @typedef {{kind: string, required?: true | null, added?: string, kinds?: number} & Absence} CatalogMember
 *
 * One version of an operation: a submit has an activity type and parameters, a query has a request and a response.
 * @typedef {{type?: string, parameters?: string, appProofs?: boolean, request?: string, response?: string,
 *   since: string} & Absence} OperationVersion
 *
 * @typedef {{members: Object<string, CatalogMember>, added?: string} & Absence} CatalogMessage `added` is the release
 *   that added the message, if it was not the first
 * @typedef {{values: Object<string, {added?: string} & Absence>} & Absence} CatalogEnum
 *
 * @typedef {object} Catalog
 * @property {Release[]} releases ordered by day
 * @property {Object<string, OperationVersion[]>} operations by path
 * @property {Object<string, CatalogMessage>} messages by definition
 * @property {Object<string, CatalogEnum>} enums by definition or member
 *
 * What a reviewer has decided about an element about which sources disagree, by the path of an operation or by
 * `Definition.member`.
 * @typedef {Object<string, {kind?: string, required?: boolean, type?: string, reason: string}>} Decisions
 */

/** The definitions whose members are the intents and the results of all activities. */
export const activityOneofs = ['v1Intent', 'v1Result'];

/** A catalog that has followed no release. @returns {Catalog} */
export const emptyCatalog = () => ({ releases: [], operations: {}, messages: {}, enums: {} });

const submitMembers = new Set(['type', 'timestampMs', 'organizationId', 'parameters', 'generateAppProofs']);
const isSubmit = (path) => path.startsWith('/public/v1/submit/');

/** The name of a scalar's kind in the catalog. */
function scalar({ kind, format }, place) {
  if (kind === 'bool' || kind === 'map' || kind === 'json') return kind;
  if (kind === 'number') {
    // Upstream writes every 64-bit number as text, so a number of the format int64 is an unsigned one of 32 bits.
    const known = { int32: 'int32', int64: 'uint32', unstated: 'number' }[format];
    if (known) return known;
  } else {
    const known = { undefined: 'string', uint64: 'uint64', int64: 'int64', byte: 'bytes' }[String(format)];
    if (known) return known;
  }
  throw new Error(`${place}: the generator does not know the format ${format}`);
}

/** Whether a source that states the kind `vague` may mean `exact`: not all sources state formats and listed texts. */
function canMean(vague, exact, place) {
  if (vague.endsWith('[]') && exact.endsWith('[]')) return canMean(vague.slice(0, -2), exact.slice(0, -2), place);
  const meanings = { string: ['uint64', 'int64', 'bytes', place], number: ['int32', 'uint32'], json: ['map'] };
  return meanings[vague]?.includes(exact) ?? false;
}

/** An activity type without its version. */
const stemOf = (type) => type.replace(/_V\d+$/, '');

/** The number of the version of an activity type. */
const numberOf = (type) => Number(versionOf(type).slice(1) || 1);

/** Merges one release into a catalog, and notes what changed, in words. */
class Merge {
  /** @type {string[]} */
  sentences = [];
  /** @type {string[]} */
  undecided = [];
  seen = new Set();

  /**
   * @param {Catalog} catalog
   * @param {import('./published.mjs').Published} published
   * @param {Release} release
   * @param {Catalog} before the catalog from which the protos were made so far
   * @param {Decisions} decisions
   */
  constructor(catalog, published, release, before, decisions) {
    this.catalog = catalog;
    this.published = published;
    this.release = release;
    this.before = before;
    this.decisions = decisions;
    this.label = labelOf(release);
  }

  /** Merges the release. @returns {string[]} what changed */
  run() {
    const { catalog, published } = this;
    this.isFirst = catalog.releases.length === 0;
    this.presence = new Presence(catalog.releases, this.release);
    const paths = new Set(published.operations.map(({ path }) => path));
    for (const operation of published.operations) {
      if (isSubmit(operation.path)) this.submit(operation);
      else this.query(operation);
    }
    for (const [path, versions] of Object.entries(catalog.operations)) {
      for (const version of versions) if (!paths.has(path)) this.absent(version, `${path} is no longer published.`);
    }
    for (const definition of activityOneofs) this.definition(definition);
    for (const part of [catalog.messages, catalog.enums]) {
      for (const [name, element] of Object.entries(part)) if (!this.seen.has(name)) this.absent(element);
    }
    catalog.releases.push(this.release);
    return this.sentences;
  }

  note(text) {
    if (!this.isFirst) this.sentences.push(text);
  }

  members(definition) {
    return this.published.messages.get(definition).members;
  }

  /** Records that the release does not have an element. Notes it with `text` if this removes the element. */
  absent(element, text, owner) {
    const wasGone = element.gone !== undefined;
    this.presence.update(element, false, owner);
    if (text && !wasGone && element.gone) this.note(text);
  }

  /** Records that the release has an element that the catalog has. */
  present(element, place, owner) {
    const wasGone = element.gone !== undefined;
    this.presence.update(element, true, owner);
    if (place && wasGone && !element.gone) this.note(`${place} is published again.`);
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
    const foreign = (this.catalog.operations[path] ?? []).find(({ type }) => stemOf(type) !== stemOf(facts.type));
    const decided = this.decisions[path]?.type;
    if (foreign && decided === undefined)
      this.undecided.push(
        `${path} has the activity type ${facts.type} in ${this.label}, and ${foreign.type} elsewhere.`,
      );
    else if (foreign && decided !== facts.type) this.present(foreign, path);
    else this.version(path, facts, `activity type ${facts.type}`);
  }

  query({ path, request, response }) {
    if (request === undefined) throw new Error(`${path}: the operation has no body`);
    this.definition(request);
    this.definition(response);
    this.version(path, { request, response }, 'query');
  }

  /** Adds a version of an operation, or compares it with the one in the catalog. */
  version(path, facts, text) {
    const versions = (this.catalog.operations[path] ??= []);
    const known = versions.find(({ type }) => type === facts.type);
    for (const version of versions) {
      // A path continues to accept earlier versions, also if a source describes only the newest one.
      if (numberOf(version.type) <= numberOf(facts.type)) this.present(version, version === known ? path : undefined);
      else this.absent(version, `${path} is no longer published with the activity type ${version.type}.`);
    }
    if (!known) {
      const version = { ...facts, since: this.release.day };
      const newer = versions.find(({ type }) => numberOf(type) > numberOf(facts.type));
      // The sources that have a later version accept this one too.
      if (newer) this.presence.update(Object.assign(version, absenceOf(newer)), true);
      else this.presence.add(version);
      versions.push(version);
      this.note(versions.length === 1 ? `${path} is new.` : `${path} has a new version: ${text}.`);
      return;
    }
    for (const [key, value] of Object.entries(facts)) {
      if (known[key] === value) continue;
      // The messages of a method keep their fields, so they cannot become those of another definition.
      if (key !== 'appProofs')
        throw new Error(`${path}: ${key} was ${known[key]}, and now is ${value}: decide by hand`);
      this.note(`${path}: generateAppProofs is ${value ? 'new' : 'no longer published'}.`);
      known.appProofs = true;
    }
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
    const message = (this.catalog.messages[name] ??= { members: {}, ...(!this.isFirst && { added: this.label }) });
    if (isNew) this.presence.add(message);
    else this.present(message);
    const present = new Set();
    for (const member of this.members(name)) {
      present.add(member.name);
      this.member(name, message, member, isNew);
    }
    for (const [key, member] of Object.entries(message.members)) {
      if (present.has(key)) continue;
      this.absent(member, `${name}.${key} is no longer published.`, message);
    }
  }

  member(owner, message, published, isNew) {
    const { name } = published;
    const place = `${owner}.${name}`;
    const decision = this.decisions[place];
    const stated = this.kind(place, published.kind);
    const kind = decision?.kind ?? stated;
    const isPart = activityOneofs.includes(owner);
    const required = isPart ? false : (decision?.required ?? published.required);
    const known = message.members[name];
    if (!known) {
      /** @type {CatalogMember} */
      const member = { kind, ...(!isNew && { added: this.label }) };
      if (isNew && required !== false) member.required = required ?? null;
      if (!isNew) this.presence.add(member, message);
      message.members[name] = member;
      if (!isNew) this.note(`${place} is new: ${kind}${required ? ', required' : ''}.`);
      return;
    }
    const wasGone = known.gone !== undefined;
    this.present(known, place, message);
    // Callers could omit the member while it was gone.
    if (wasGone && !known.gone && known.required) known.added = this.label;
    const isElsewhere = this.presence.isElsewhere(known, message);
    this.compareKind(place, known, kind, isElsewhere && decision?.kind === undefined);
    if (!known.gone) this.compareRequired(place, known, required, isElsewhere && decision?.required === undefined);
    // A source that states no listed texts does not lack those of another one.
    if (known.kind.replace('[]', '') === place) this.seen.add(place);
  }

  /** Whether the protos that were made so far have the member. */
  isMade(place) {
    const [owner, name] = place.split('.');
    return this.before.messages[owner]?.members[name] !== undefined;
  }

  compareKind(place, known, kind, isDisputed) {
    if (known.kind === kind) return;
    if (isDisputed && canMean(kind, known.kind, place)) return;
    if (isDisputed && canMean(known.kind, kind, place)) {
      // The field of a proto keeps its type.
      if (!this.isMade(place)) known.kind = kind;
      return;
    }
    if (isDisputed) {
      this.undecided.push(`${place} is of kind ${kind} in ${this.label}, and ${known.kind} elsewhere.`);
      return;
    }
    this.note(`${place} was of kind ${known.kind}, and now is ${kind}. The type has no new version.`);
    known.kind = kind;
    known.kinds = (known.kinds ?? 1) + 1;
    // The new field replaces the old one, which compiled callers set, so it must not be required of them.
    if (known.required) known.added = this.label;
    delete known.required;
  }

  compareRequired(place, known, required, isDisputed) {
    if (required === undefined || known.added) return;
    if (known.required === null) {
      if (this.isMade(place)) return;
      if (required) known.required = true;
      else delete known.required;
      return;
    }
    if (Boolean(known.required) === required) return;
    if (isDisputed) {
      this.undecided.push(`${place} is ${required ? '' : 'not '}required in ${this.label}, unlike elsewhere.`);
    } else if (!required) {
      this.note(`${place} is no longer required.`);
      delete known.required;
    } else {
      this.note(
        `${place} is required in this release. Its proto field stays optional, so that older callers can omit it.`,
      );
      known.added = this.label;
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
    this.seen.add(name);
    const isNew = !this.catalog.enums[name];
    const known = (this.catalog.enums[name] ??= { values: {} });
    if (isNew) this.presence.add(known);
    else this.present(known);
    for (const value of values) {
      if (known.values[value]) {
        this.present(known.values[value], `${name} ${value}`, known);
        continue;
      }
      known.values[value] = isNew ? {} : { added: this.label };
      if (isNew) continue;
      this.presence.add(known.values[value], known);
      this.note(`${name} has a new value: ${value}.`);
    }
    for (const [value, facts] of Object.entries(known.values)) {
      if (!values.includes(value)) this.absent(facts, `${name} no longer has the value ${value}.`, known);
    }
  }
}

const byDay = (/** @type {Release} */ a, /** @type {Release} */ b) => a.day.localeCompare(b.day);

/** The members whose kind no source states exactly, as sentences. */
const inexact = (/** @type {Catalog} */ catalog) =>
  Object.entries(catalog.messages).flatMap(([owner, { members }]) =>
    Object.entries(members)
      .filter(([, { kind }]) => /^number\b/.test(kind))
      .map(([name]) => `${owner}.${name} is a number whose size no source states.`),
  );

/**
 * Merges releases into `catalog`, in the order of their days.
 * @param {Catalog} catalog
 * @param {{release: Release, published: import('./published.mjs').Published}[]} releases
 * @param {Decisions} [decisions]
 * @returns {{changes: {release: Release, sentences: string[]}[], undecided: string[]}} what each release changes, in
 *   sentences; the first release of a catalog changes nothing. And the disagreements of sources without a decision, in
 *   sentences: the catalog keeps what it had
 */
export function mergeReleases(catalog, releases, decisions = {}) {
  const before = structuredClone(catalog);
  const merges = [...releases]
    .sort((a, b) => byDay(a.release, b.release))
    .map(({ release, published }) => new Merge(catalog, published, release, before, decisions));
  const changes = merges.map((merge) => ({ release: merge.release, sentences: merge.run() }));
  catalog.releases.sort(byDay);
  return { changes, undecided: [...merges.flatMap(({ undecided }) => undecided), ...inexact(catalog)] };
}
