// The methods of the API: one for each version of an operation that callers can use.
import { bare, pascal, versionOf } from './names.mjs';

/**
 * @typedef {object} Method
 * @property {string} path
 * @property {string} name the method, such as CreateWallet
 * @property {string} area
 * @property {string} service such as WalletService
 * @property {import('./catalog.mjs').OperationVersion} version
 * @property {import('./reviewed.mjs').OperationEntry} entry
 */

/** The kind of an operation. @returns {'submit' | 'query' | 'discovery'} */
export const kindOf = (version) => (version.type ? 'submit' : version.discovery ? 'discovery' : 'query');

/** Returns the methods of all operations, ordered by path. @returns {Method[]} */
export function methodsOf(catalog, reviewed) {
  return Object.entries(catalog.operations).sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([path, versions]) => {
    const entry = reviewed.operation(path);
    const area = entry.area ?? 'organization';
    const name = entry.method ?? pascal(path.split('/').pop());
    return versions.map((version, index) => ({
      path,
      // The first version that the project followed has the plain name; a later one has the suffix of its type.
      name: index === 0 ? name : name + pascal(versionOf(version.type).toLowerCase()),
      area,
      service: `${pascal(area)}Service`,
      version,
      entry,
    }));
  });
}

/** The words of an intent's or result's definition: `v1CreateUsersIntentV4` is about `CreateUsers`. */
export const subjectOf = (definition) => /^(\w+?)(?:Intent|Result)(V\d+)?$/.exec(bare(definition))?.[1];

/** The activity type whose intent or result a definition is, such as ACTIVITY_TYPE_CREATE_USERS_V4. */
export function activityTypeOf(definition, upperSnake) {
  const [, subject, version] = /^(\w+?)(?:Intent|Result)(V\d+)?$/.exec(bare(definition));
  return `ACTIVITY_TYPE_${upperSnake(subject)}${version ? `_${version}` : ''}`;
}
