// Reads the reviewed tables: what no source states about operations, types and fields. ../reviewed/README.md describes
// them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from './packages.mjs';

const { parse } = load('yaml');

/**
 * @typedef {{text: string, public?: boolean, secret?: boolean, number?: boolean, may_be_empty?: boolean,
 *   minimum?: number, maximum?: number, max_bytes?: number, max_characters?: number,
 *   min_elements?: number, max_elements?: number, guard?: string,
 *   text_form?: string, name?: string, required?: boolean, presence?: boolean, whole?: boolean,
 *   replaces?: string}} FieldEntry
 * @typedef {{text?: string, name?: string, area?: string, at_most_one?: string[]}} TypeEntry
 * @typedef {{text?: string, name?: string, values?: Object<string, string>, names?: Object<string, string>}} EnumEntry
 * @typedef {{area: string, method?: string, text: string, request?: string, response?: string, errors?: string,
 *   class: string, reason: string, stamped_by_client?: boolean, moves_unread_amount?: boolean, internal?: boolean,
 *   outcome?: string, organization?: string, app_proofs?: boolean, specification?: boolean,
 *   versions?: string[]}} OperationEntry
 * @typedef {{types: string, types_text: string, service_text: string, file_text: string}} AreaEntry
 */

/** The tables in a folder. */
export class Reviewed {
  /** @param {string} folder the folder with the tables */
  constructor(folder) {
    const table = (name) => parse(readFileSync(join(folder, `${name}.yaml`), 'utf8'));
    /** @type {Object<string, AreaEntry>} */
    this.areas = table('areas');
    /** @type {Object<string, OperationEntry>} */
    this.operations = table('operations');
    /** @type {Object<string, FieldEntry>} */
    this.fields = table('fields');
    /** @type {Object<string, TypeEntry>} */
    this.types = table('types');
    /** @type {Object<string, EnumEntry>} */
    this.enums = table('enums');
    /** @type {Partial<import('./catalog.mjs').Catalog>} */
    this.supplement = table('supplement');
    /** @type {import('./catalog.mjs').Decisions} */
    this.sources = table('sources');
  }

  /**
   * A catalog with the operations that upstream documents, but does not publish as types.
   * @param {import('./catalog.mjs').Catalog} catalog
   * @returns {import('./catalog.mjs').Catalog}
   */
  complete(catalog) {
    const { operations, messages, enums } = this.supplement;
    return {
      releases: catalog.releases,
      operations: { ...catalog.operations, ...operations },
      messages: { ...catalog.messages, ...messages },
      enums: { ...catalog.enums, ...enums },
    };
  }

  /**
   * The entry of the operation with this path. An operation without an entry is dangerous.
   * @param {string} path
   * @returns {Partial<OperationEntry>}
   */
  operation(path) {
    return this.operations[path.split('/').pop()] ?? {};
  }

  /**
   * The entry of a member: its own, or else `common`, or else the entry of its name.
   * @returns {FieldEntry}
   */
  field(definition, member, common) {
    return this.fields[`${definition}.${member}`] ?? common ?? this.fields[member] ?? {};
  }

  /** Whether a member has an entry of its own. */
  hasOwn(definition, member) {
    return `${definition}.${member}` in this.fields;
  }

  /** @returns {TypeEntry} */
  type(definition) {
    return this.types[definition] ?? {};
  }

  /** @returns {EnumEntry} */
  enum(key) {
    return this.enums[key] ?? {};
  }
}
