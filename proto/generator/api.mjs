// The API as elements of protos: makes messages, enums and services from the catalog, the reviewed tables and the lock.
import { activityOneofs } from './catalog.mjs';
import {
  activityPartComment,
  emptyList,
  fieldComments,
  gone,
  methodComment,
  queryFields,
  requestComment,
  submitComments,
  words,
} from './comments.mjs';
import { Graph, named } from './graph.mjs';
import { bare, camel, pascal, snake, upperSnake } from './names.mjs';
import { kindOf, methodsOf, subjectOf } from './operations.mjs';
import { placesOf } from './places.mjs';
import { labelOf } from './presence.mjs';

/**
 * @typedef {{name: string, type: string, label: '' | 'optional' | 'repeated', number: number,
 *   options: [string, string][], comment: string, deprecated?: boolean}} Field
 * @typedef {{kind: 'message', name: string, comment: string, fields: Field[], retired: [string, number][],
 *   atMostOne?: string[], oneof?: string, oneofComment?: string}} Message
 * @typedef {{kind: 'enum', name: string, comment: string,
 *   values: {name: string, number: number, json?: string, comment: string, deprecated?: boolean}[]}} Enum
 * @typedef {{name: string, comment: string, methods: object[]}} Service
 * @typedef {{path: string, comment: string, elements: (Message | Enum)[], imports: Set<string>, service?: Service}} File
 */

/** Definitions whose messages are written by hand, and the files that define them. */
const byHand = {
  v1Activity: ['Activity', 'stampgate/v1/activity.proto'],
  v1ActivityStatus: ['ActivityStatus', 'stampgate/v1/activity.proto'],
  v1Vote: ['Vote', 'stampgate/v1/activity.proto'],
  v1AppProof: ['AppProof', 'stampgate/v1/activity.proto'],
  rpcStatus: ['Failure', 'stampgate/v1/activity.proto'],
  v1Pagination: ['PaginationOptions', 'stampgate/v1/pagination.proto'],
  externaldatav1Timestamp: ['google.protobuf.Timestamp', 'google/protobuf/timestamp.proto'],
};
/** Enums of upstream that the API has as text, because they grow with each release. */
const asText = ['v1ActivityType'];

const submitNumbers = {
  timestamp_ms: 1,
  organization_id: 2,
  parameters: 3,
  generate_app_proofs: 4,
  wait_until: 13,
  idempotency_key: 14,
  client_stamp: 15,
};
const queryNumbers = { organization_id: 1, client_stamp: 15 };
/** The proto type of a kind that is no message, no enum and no map. */
function scalarType(kind, entry) {
  if (kind === 'string') return entry.number ? 'uint64' : 'string';
  return kind === 'json' || asText.includes(kind) ? 'string' : kind;
}

/** @type {(name: string) => [string, string]} */
const flag = (name) => [`(field).${name}`, 'true'];

class Api {
  constructor(catalog, reviewed, lock) {
    this.catalog = catalog;
    this.reviewed = reviewed;
    this.lock = lock;
    this.graph = new Graph(catalog);
    this.methods = methodsOf(catalog, reviewed);
    // If two versions have the same parameters, the message has the name of the first.
    this.methodOfParameters = new Map(
      [...this.methods]
        .reverse()
        .flatMap((method) => (method.version.parameters ? [[method.version.parameters, method]] : [])),
    );
    // A result belongs to the first method of its subject: a later version can have the result of an earlier one.
    this.methodOfSubject = new Map(
      [...this.methods]
        .reverse()
        .flatMap((method) => (method.version.parameters ? [[subjectOf(method.version.parameters), method]] : [])),
    );
    // The lock has the message of an intent that had no method so far. It keeps its fields, and callers keep its type, so
    // the parameters of the method are a message of their own.
    this.intentsBeforeMethods = new Set(
      [...this.methodOfParameters.keys()].filter((key) => bare(key) in lock.content.messages),
    );
    this.places = placesOf(reviewed, this.graph, this.methods, (key) => this.name(key), lock.content.areas);
    // Several definitions can share a message: its texts are secret if one of them is in a submit.
    this.namesInSubmits = new Set([...this.graph.inSubmits].map((key) => this.name(key)));
    /** Definitions with the same proto name share a message. */
    this.definitionsOf = new Map();
    this.elements = new Map();
    this.files = new Map();
    this.unreviewed = new Set();
  }

  /** Returns the text of a reviewed entry, or else `rule`. */
  text(entry, place, rule) {
    if (entry.text === undefined) this.unreviewed.add(place);
    return entry.text ?? rule;
  }

  // Names.

  /** The proto name of a definition, or of a member whose values are listed texts. */
  name(key) {
    if (byHand[key]) return byHand[key][0];
    const [definition, member] = key.split('.');
    const entry =
      member === undefined && key in this.catalog.messages ? this.reviewed.type(key) : this.reviewed.enum(key);
    if (entry.name) return entry.name;
    if (member) return this.name(definition) + pascal(snake(member));
    const method = this.methodOfParameters.get(key);
    return method ? `${method.name}Parameters` : bare(key);
  }

  typesFile(area) {
    return `stampgate/v1/${this.reviewed.areas[area].types}.proto`;
  }

  /** The file that defines a proto type which is named by a definition. */
  fileOf(key) {
    return byHand[key]?.[1] ?? this.typesFile(this.places.get(key));
  }

  // Files.

  file(path, comment) {
    const file = this.files.get(path) ?? { path, comment, elements: [], imports: new Set() };
    this.files.set(path, file);
    return file;
  }

  add(file, element, origin) {
    const known = this.elements.get(element.name);
    if (known)
      throw new Error(`${origin} and ${known} have the same proto name ${element.name}: name one in the tables`);
    this.elements.set(element.name, origin);
    file.elements.push(element);
  }

  build() {
    const reachable = this.graph.closure([
      ...activityOneofs,
      ...this.methods.flatMap(({ version }) => [version.parameters, version.request, version.response].filter(Boolean)),
    ]);
    for (const key of [...reachable].filter((each) => each in this.catalog.messages)) {
      const name = this.name(key);
      this.definitionsOf.set(name, [...(this.definitionsOf.get(name) ?? []), key]);
    }
    for (const method of this.methods) this.method(method);
    const roots = new Set(this.methods.flatMap(({ version }) => [version.request, version.response]));
    for (const key of reachable) {
      if (byHand[key] || asText.includes(key) || roots.has(key)) continue;
      if (activityOneofs.includes(key)) this.oneof(key);
      else if (key in this.catalog.messages) this.definition(key);
    }
    this.enums([...reachable].filter((key) => key in this.catalog.enums && !byHand[key] && !asText.includes(key)));
    for (const file of this.files.values()) {
      // Enums precede messages. Within both, the order is that of the lock, so that new elements come last.
      const rank = ({ kind, name }) => [kind === 'enum' ? 0 : 1, this.lock.order(name)];
      file.elements = file.elements
        .map((element, index) => [element, [...rank(element), index]])
        .sort(([, a], [, b]) => a[0] - b[0] || (a[1] === b[1] ? 0 : a[1] - b[1]) || a[2] - b[2])
        .map(([element]) => element);
    }
    return { files: [...this.files.values()], methods: this.methods, unreviewed: [...this.unreviewed] };
  }

  // Methods.

  method(method) {
    const { area, service, name, version, entry } = method;
    const words = this.reviewed.areas[area];
    const file = this.file(`stampgate/v1/${area}_service.proto`, words.file_text);
    file.service ??= { name: service, comment: words.service_text, methods: [] };
    file.imports.add('stampgate/v1/options.proto').add('stampgate/v1/client_stamp.proto');
    const place = `${service}.${name}`;
    this.text(entry, `operation ${method.path}`);
    if (!method.isFirst && !entry.versions?.includes(version.type)) this.unreviewed.add(`version ${version.type}`);
    const options = [
      ['kind', `OPERATION_KIND_${kindOf(version).toUpperCase()}`],
      ['path', `"${method.path}"`],
    ];
    if (version.type) options.push(['activity_type', `"${version.type}"`]);
    options.push(['policy_class', `POLICY_CLASS_${(entry.class ?? 'dangerous').toUpperCase()}`]);
    if (entry.stamped_by_client) options.push(['stamped_by_client', 'true']);
    if (!entry.specification || !method.isFirst) options.push(['since', `"${version.since}"`]);
    if (entry.internal) options.push(['internal', 'true']);
    // A submit that nobody has reviewed may move assets: no grant with limits allows it.
    const isUnreviewed = entry.class === undefined && version.type !== undefined;
    if (entry.moves_unread_amount ?? isUnreviewed) options.push(['moves_unread_amount', 'true']);
    file.service.methods.push({
      name,
      options,
      comment: methodComment(method),
      deprecated: version.gone !== undefined,
    });
    if (version.type) this.submit(file, method, place);
    else this.query(file, method, place);
  }

  submit(file, method, place) {
    const { name, version, entry } = method;
    const message = `${name}Request`;
    const hasProofs = version.appProofs || entry.app_proofs;
    const names = Object.keys(submitNumbers).filter((field) => hasProofs || field !== 'generate_app_proofs');
    const numbers = this.lock.fields(message, names, submitNumbers);
    file.imports.add('stampgate/v1/activity.proto').add(this.fileOf(version.parameters));
    const comments = submitComments(method);
    const field = (fieldName, label, type, comment, options = []) => ({
      name: fieldName,
      label,
      type,
      number: numbers[fieldName],
      options,
      comment,
    });
    this.add(
      file,
      {
        kind: 'message',
        name: message,
        comment: `Request of ${place}.${comments.message}`,
        retired: [],
        fields: [
          field('timestamp_ms', 'optional', 'uint64', comments.time),
          field('organization_id', '', 'string', requestComment(comments.organization, true), [flag('required')]),
          field('parameters', '', this.name(version.parameters), requestComment(comments.parameters, true), [
            flag('required'),
          ]),
          ...(hasProofs ? [field('generate_app_proofs', 'optional', 'bool', comments.appProofs)] : []),
          field('wait_until', 'optional', 'WaitUntil', comments.wait, [['(field).role', 'FIELD_ROLE_WAIT_UNTIL']]),
          field('idempotency_key', 'optional', 'string', comments.key, [
            ['(field).role', 'FIELD_ROLE_IDEMPOTENCY_KEY'],
          ]),
          field('client_stamp', '', 'ClientStamp', comments.stamp),
        ],
      },
      place,
    );
    const response = `${name}Response`;
    const responseNumbers = this.lock.fields(response, ['activity', 'unrecognized']);
    this.add(
      file,
      {
        kind: 'message',
        name: response,
        comment: `Response of ${place}.`,
        retired: [],
        fields: [
          {
            name: 'activity',
            label: '',
            type: 'Activity',
            number: responseNumbers.activity,
            options: [flag('required')],
            comment:
              entry.response ?? fieldComments.activity(entry.outcome ?? 'upstream has carried out the operation'),
          },
          this.unrecognized(responseNumbers),
        ],
      },
      place,
    );
  }

  query(file, { name, version }, place) {
    const isStamped = kindOf(version) === 'query';
    const request = this.fieldsOf(version.request, `${name}Request`, file, {
      ...(isStamped && { fixed: queryNumbers, added: ['client_stamp'] }),
      common: queryFields,
    });
    if (isStamped) {
      request.fields.push({
        name: 'client_stamp',
        label: '',
        type: 'ClientStamp',
        number: request.numbers.client_stamp,
        options: [],
        comment: fieldComments.stamp,
      });
    }
    this.add(file, { kind: 'message', name: `${name}Request`, comment: `Request of ${place}.`, ...request }, place);
    const response = this.fieldsOf(version.response, `${name}Response`, file, { added: ['unrecognized'] });
    response.fields.push(this.unrecognized(response.numbers));
    const comment = this.reviewed.type(version.response).text ?? `Response of ${place}.`;
    this.add(file, { kind: 'message', name: `${name}Response`, comment, ...response }, place);
  }

  /** @returns {Field} */
  unrecognized(numbers) {
    return {
      name: 'unrecognized',
      label: '',
      type: 'map<string, string>',
      number: numbers.unrecognized,
      options: [],
      comment: fieldComments.unrecognized,
    };
  }

  // Messages.

  definition(key) {
    const area = this.places.get(key);
    const file = this.file(this.typesFile(area), this.reviewed.areas[area].types_text);
    const name = this.name(key);
    if (this.isMadeByAnother(key, name)) return;
    const entry = this.reviewed.type(key);
    this.lock.content.areas[name] = area;
    const content = this.fieldsOf(key, name, file);
    if (entry.at_most_one) file.imports.add('stampgate/v1/options.proto');
    this.add(
      file,
      {
        kind: 'message',
        name,
        comment: this.definitionComment(key, entry),
        atMostOne: entry.at_most_one,
        ...content,
      },
      key,
    );
    if (this.intentsBeforeMethods.has(key)) this.intentBeforeMethod(key, file);
  }

  /** Adds the message of the intent of a definition whose parameters are a message of their own. */
  intentBeforeMethod(key, file) {
    const { service, name } = this.methodOfParameters.get(key);
    const content = this.fieldsOf(key, bare(key), file, { isRequest: false });
    const comment = `Intent of ${service}.${name}.`;
    this.add(file, { kind: 'message', name: bare(key), comment, ...content }, key);
  }

  /** Whether another definition with the same name makes the message: one that requests use, or else the first. */
  isMadeByAnother(key, name) {
    const members = (one) => Object.keys(this.catalog.messages[one].members).sort().join();
    const sharing = this.definitionsOf.get(name);
    const other = sharing.find((each) => members(each) !== members(key));
    if (other) throw new Error(`${key} and ${other} have the same proto name ${name}, but other members`);
    return key !== (sharing.find((each) => this.graph.inRequests.has(each)) ?? sharing[0]);
  }

  definitionComment(key, entry) {
    if (entry.text && entry.whole) return entry.text;
    const method = this.methodOfParameters.get(key);
    const text = entry.text ? ` ${entry.text}` : '';
    const isIntent = !this.intentsBeforeMethods.has(key);
    if (method)
      return `Parameters of ${method.service}.${method.name}${isIntent ? ', and the intent of its activity' : ''}.${text}`;
    if (!this.graph.activityParts.has(key)) {
      return this.text(entry, `type ${key}`, `The ${words(key)} of upstream's types.`);
    }
    const owner = this.methodOfSubject.get(subjectOf(key));
    if (owner && /Result(V\d+)?$/.test(key)) return `Result of ${owner.service}.${owner.name}.${text}`;
    return activityPartComment(key) + text;
  }

  /**
   * The fields of a definition's message.
   * @param {string} definition
   * @param {string} message
   * @param {File} file
   * @param {{fixed?: Object<string, number>, added?: string[], isRequest?: boolean,
   *   common?: Object<string, Partial<import('./reviewed.mjs').FieldEntry>>}} [options] the numbers of some fields, the
   *   fields that no member has, entries of members, and whether the message is part of requests
   * @returns {{fields: Field[], numbers: Record<string, number>, retired: [string, number][]}}
   */
  fieldsOf(definition, message, file, options = {}) {
    const { fixed = {}, added = [], common = {}, isRequest = this.graph.inRequests.has(definition) } = options;
    const members = Object.entries(this.catalog.messages[definition].members);
    const entries = members.map(([member, facts]) => {
      const entry = this.entryOf(definition, member, facts, common[member]);
      return { member, facts, entry, name: entry.name ?? this.fieldName(member, facts) };
    });
    const numbers = this.lock.fields(message, [...entries.map(({ name }) => name), ...added], fixed);
    const places = entries.map((one) => ({
      ...one,
      older: entries.find(({ member }) => member === one.entry.replaces),
      newer: entries.find(({ entry }) => entry.replaces === one.member),
    }));
    const fields = places
      .map((place) => this.field(definition, place, numbers, file, isRequest))
      .sort((a, b) => a.number - b.number);
    const names = [...fields.map(({ name }) => name), ...added];
    return { fields, numbers, retired: this.lock.retired(message, names) };
  }

  /**
   * The entry of a member. In a later release, a name can mean something else than it did so far, so what is true of the
   * name is not yet reviewed for the member.
   */
  entryOf(definition, member, facts, common) {
    const entry = this.reviewed.field(definition, member, common);
    const isNew = facts.added !== undefined || this.catalog.messages[definition].added !== undefined;
    if (!isNew || common || this.reviewed.hasOwn(definition, member) || activityOneofs.includes(definition))
      return entry;
    this.unreviewed.add(`field ${definition}.${member}`);
    const { public: _, ...rest } = entry;
    return rest;
  }

  fieldName(member, facts) {
    if (member.includes('{')) throw new Error(`the table of fields must name the field for ${member}`);
    const name = snake(member);
    return facts.kinds ? `${name}_v${facts.kinds}` : name;
  }

  /**
   * The field of a member. `older` is the member that it replaces, and `newer` the one that replaces it.
   * @returns {Field}
   */
  field(definition, { member, facts, entry, name, older, newer }, numbers, file, isRequest) {
    const isList = facts.kind.endsWith('[]');
    const kind = named(facts.kind);
    const type = this.type(kind, entry, file, definition);
    // A member that another one replaces is not gone: the caller sets it under one of its names.
    const isGone = facts.gone !== undefined && newer === undefined;
    const required = this.isRequired({ facts, entry }, isRequest) && !isGone && (newer !== undefined || !facts.added);
    /** @type {[string, string][]} */
    const options = [];
    if (required) options.push(flag('required'));
    if (entry.may_be_empty) options.push(flag('may_be_empty'));
    for (const limit of ['minimum', 'maximum', 'max_bytes', 'max_characters', 'min_elements', 'max_elements']) {
      if (isRequest && entry[limit] !== undefined) options.push([`(field).${limit}`, String(entry[limit])]);
    }
    const isText = ['string', 'bytes'].includes(type) || kind === 'map';
    const message = this.name(definition);
    const isInSubmit = this.namesInSubmits.has(message);
    const isSecret = this.definitionsOf
      .get(message)
      .map((each) => (each === definition ? entry : this.reviewed.field(each, member)))
      .some((each) => each.secret ?? (isText && isInSubmit && !each.public));
    if (isSecret) options.push(flag('secret'));
    if (kind === 'json') options.push(['(field).text_form', 'TEXT_FORM_JSON']);
    if (entry.text_form) options.push(['(field).text_form', `TEXT_FORM_${entry.text_form}`]);
    if (entry.guard && isRequest) options.push(['(field).guard', `FIELD_GUARD_${entry.guard.toUpperCase()}`]);
    if (camel(name) !== member) options.push(['(field).json_name', `"${member}"`]);
    if (entry.replaces) options.push(...this.replacement(definition, member, entry.replaces, older));
    if (options.length > 0) file.imports.add('stampgate/v1/options.proto');

    const text = activityOneofs.includes(definition)
      ? ''
      : this.text(entry, `field ${definition}.${member}`, `The member ${member} of upstream's JSON.`);
    const otherName = (older && this.isRequired(older, isRequest)) || (newer && required) ? (older ?? newer).name : '';
    return {
      name,
      type,
      options,
      number: numbers[name],
      label: isList ? 'repeated' : this.hasPresence(older ?? { facts, entry }, isRequest) ? 'optional' : '',
      comment:
        (isRequest && !entry.whole ? requestComment(text, required, otherName) : text) +
        (isRequest && isList && !required ? emptyList : '') +
        (isGone ? gone(facts.gone, 'field') : ''),
      deprecated: isGone,
    };
  }

  /** Whether a request must have the member, as long as upstream publishes it. */
  isRequired({ facts, entry }, isRequest) {
    return entry.required ?? (isRequest && facts.required === true);
  }

  /** Whether the field of a member that is no list has presence. */
  hasPresence({ facts, entry }, isRequest) {
    const kind = named(facts.kind);
    if (kind in this.catalog.messages || kind === 'map') return false;
    // A required number or truth value may be zero or false, so its field has presence.
    const isZeroable = !['string', 'bytes'].includes(scalarType(kind, entry)) && !(kind in this.catalog.enums);
    const isOptional = !this.isRequired({ facts, entry }, isRequest) || isZeroable || entry.may_be_empty;
    return entry.presence ?? (isRequest ? isOptional : !facts.required);
  }

  /**
   * The options of a member that replaces another one of its message.
   * @returns {[string, string][]}
   */
  replacement(definition, member, replaced, older) {
    const { added } = this.catalog.messages[definition].members[member];
    const release = this.catalog.releases.find((one) => labelOf(one) === added);
    if (!older || !release)
      throw new Error(`${definition}.${member} replaces ${replaced}, which is no earlier member of the message`);
    return [
      ['(field).replaces', `"${older.name}"`],
      ['(field).since', `"${release.day}"`],
    ];
  }

  type(kind, entry, file, definition) {
    if (kind === 'map') return 'map<string, string>';
    if (asText.includes(kind) || !this.graph.isDefined(kind)) return scalarType(kind, entry);
    const path = this.fileOf(kind);
    if (path !== file.path) file.imports.add(path);
    const isIntent = activityOneofs.includes(definition) && this.intentsBeforeMethods.has(kind);
    return isIntent ? bare(kind) : this.name(kind);
  }

  oneof(key) {
    const isIntent = key === 'v1Intent';
    const word = isIntent ? 'intent' : 'result';
    const name = isIntent ? 'ActivityIntent' : 'ActivityResult';
    const entry = this.reviewed.type(key);
    const file = this.file(`stampgate/v1/activity_${word}.proto`, entry.file_text);
    const content = this.fieldsOf(key, name, file);
    const members = this.catalog.messages[key].members;
    for (const field of content.fields) {
      const [, facts] = Object.entries(members).find(([member]) => snake(member) === field.name);
      const owner = isIntent
        ? this.methodOfParameters.get(facts.kind)
        : this.methodOfSubject.get(subjectOf(facts.kind));
      const part = isIntent ? 'Intent' : 'Result';
      field.comment = owner ? `${part} of ${owner.service}.${owner.name}.` : activityPartComment(facts.kind);
      field.label = '';
      field.options = field.options.filter(([option]) => option.endsWith('json_name'));
    }
    file.imports.delete('stampgate/v1/options.proto');
    this.add(
      file,
      { kind: 'message', name, comment: entry.text, oneof: word, oneofComment: entry.oneof_text, ...content },
      key,
    );
  }

  // Enums.

  enums(keys) {
    const byName = new Map();
    for (const key of keys) {
      const name = this.name(key);
      byName.set(name, [...(byName.get(name) ?? []), key]);
    }
    for (const [name, group] of byName) {
      const areas = group.map((key) => this.places.get(key));
      const order = Object.keys(this.reviewed.areas);
      const area = areas.sort((a, b) => order.indexOf(a) - order.indexOf(b))[0];
      for (const key of group) this.places.set(key, area);
      const file = this.file(this.typesFile(area), this.reviewed.areas[area].types_text);
      this.lock.content.areas[name] = area;
      this.add(file, this.enum(name, group, file), group[0]);
    }
  }

  enum(name, keys, file) {
    const prefix = upperSnake(name);
    const entry = Object.assign({}, ...keys.map((key) => this.reviewed.enum(key)), {
      values: Object.assign({}, ...keys.map((key) => this.reviewed.enum(key).values)),
    });
    const all = Object.assign({}, ...keys.map((key) => this.catalog.enums[key].values));
    const values = Object.entries(all).map(([json, facts]) => {
      const word = entry.names?.[json] ?? json.toUpperCase().replace(/[^A-Z0-9]/g, '_');
      const value = word.startsWith(`${prefix}_`) ? word : `${prefix}_${word}`;
      return { json, facts, value };
    });
    const zero = values.find(({ value }) => value === `${prefix}_UNSPECIFIED`);
    if (zero) throw new Error(`${keys[0]} has the value ${zero.json}, which the API uses for an unset field`);
    const numbers = this.lock.values(
      name,
      values.map(({ value }) => value),
    );
    if (values.some(({ json, value }) => json !== value)) file.imports.add('stampgate/v1/options.proto');
    return {
      kind: 'enum',
      name,
      comment: this.text(entry, `enum ${keys[0]}`, `The values of ${words(keys[0])}.`),
      values: [
        { name: `${prefix}_UNSPECIFIED`, number: 0, comment: 'Not set; never sent by upstream.' },
        ...values
          .map(({ json, facts, value }) => ({
            name: value,
            number: numbers[value],
            json: json === value ? undefined : json,
            comment:
              this.text({ text: entry.values[json] }, `value ${json} of ${keys[0]}`, `The value "${json}".`) +
              gone(facts.gone, 'value'),
            deprecated: facts.gone !== undefined,
          }))
          .sort((a, b) => a.number - b.number),
      ],
    };
  }
}

/**
 * Makes the API.
 * @param {import('./catalog.mjs').Catalog} catalog
 * @param {import('./reviewed.mjs').Reviewed} reviewed
 * @param {import('./lock.mjs').Lock} lock gets the numbers of new elements
 * @returns {{files: File[], methods: import('./operations.mjs').Method[], unreviewed: string[]}} `unreviewed` has the elements
 *   for which the tables have no text
 */
export const makeApi = (catalog, reviewed, lock) => new Api(catalog, reviewed, lock).build();
