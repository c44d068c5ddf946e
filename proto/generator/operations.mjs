// The methods of the API: one for each version of an operation that callers can use.
import { bare, pascal, upperSnake, versionOf } from './names.mjs';

/**
 * @typedef {object} Method
 * @property {string} path
 * @property {boolean} isFirst whether it is the first version that the project followed
 * @property {string} name the method, such as CreateWallet
 * @property {string} area
 * @property {string} service such as WalletService
 * @property {import('./catalog.mjs').OperationVersion} version
 * @property {import('./reviewed.mjs').OperationEntry} entry
 */

/** The kind of an operation. @returns {'submit' | 'query' | 'discovery'} */
export const kindOf = (version) => (version.type ? 'submit' : version.discovery ? 'discovery' : 'query');

/** The name of a later version of a method. The first version that the project followed has the plain name. */
function nameOfVersion(name, activityType) {
  const version = versionOf(activityType);
  if (!version) throw new Error(`${activityType} is a later type of ${name}, but has no version at its end`);
  return name + pascal(version.toLowerCase());
}

/** Returns the methods of all operations, ordered by path. @returns {Method[]} */
export function methodsOf(catalog, reviewed) {
  return Object.entries(catalog.operations)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([path, versions]) => {
      const entry = reviewed.operation(path);
      const area = entry.area ?? 'organization';
      const name = entry.method ?? pascal(path.split('/').pop());
      return versions.map((version, index) => ({
        path,
        isFirst: index === 0,
        name: index === 0 ? name : nameOfVersion(name, version.type),
        area,
        service: `${pascal(area)}Service`,
        version,
        entry,
      }));
    });
}

/** The end of the name of an intent's or result's definition, with its version. */
const partSuffix = /(?:Intent|Result)(V\d+)?$/;

/** The words of an intent's or result's definition: `v1CreateUsersIntentV4` is about `CreateUsers`. */
export const subjectOf = (definition) => bare(definition).replace(partSuffix, '');

/** The activity type whose intent or result a definition is by its name, such as ACTIVITY_TYPE_CREATE_USERS_V4. */
export function activityTypeOf(definition) {
  const suffix = partSuffix.exec(definition);
  if (!suffix) throw new Error(`an activity contains ${definition}, whose name is not that of an intent or a result`);
  const [, version] = suffix;
  return `ACTIVITY_TYPE_${upperSnake(subjectOf(definition))}${version ? `_${version}` : ''}`;
}
