// Prints the list of a release's software, as SPDX 2.3 in JSON: node sbom.mjs VERSION FOLDER ROOT TRY
//
// FOLDER has the files of the release. ROOT is the image's root folder, and TRY the content of the archive `try`. The list
// contains each file of FOLDER, what the archives contain of others, and what the client packages and the generator
// install.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { checksumOf, listOf, locatedBy, relate, spdxPackage } from '../image/spdx.mjs';

const [version, folder, root, tried] = process.argv.slice(2);
const tree = new URL('../../', import.meta.url);
const textOf = (path) => readFileSync(new URL(path, tree), 'utf8');
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

const ownFiles = readdirSync(folder)
  .sort()
  .map((name) =>
    spdxPackage(name, name, version, {
      packageFileName: name,
      licenseConcluded: 'Apache-2.0',
      licenseDeclared: 'Apache-2.0',
      primaryPackagePurpose: /\.tar(\.gz)?$|-chart-/.test(name) ? 'ARCHIVE' : 'LIBRARY',
      ...checksumOf(join(folder, name)),
    }),
  );

/** The only file of the release whose name contains the text. */
function ownFile(text) {
  const [file, ...others] = ownFiles.filter(({ name }) => name.includes(text));
  if (!file || others.length > 0) throw new Error(`not one file of the release has '${text}' in its name`);
  return file;
}

/** A package of a registry. `requirement` is its version, or the versions that a manifest accepts. */
function registered(type, name, requirement, license = 'NOASSERTION') {
  const isExact = /^v?\d/.test(requirement);
  const purl = `pkg:${type}/${name.replace('@', '%40')}${isExact ? `@${requirement}` : ''}`;
  return spdxPackage(`${type}-${name}-${requirement}`, name, requirement, {
    licenseDeclared: license,
    ...locatedBy(purl),
  });
}

/** The packages of npm below a folder. */
function installedBelow(place) {
  const manifests = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path),
  );
  return manifests.sort().map((path) => {
    const { name, version: exact, license } = readJson(join(place, path));
    return registered('npm', name, exact, license);
  });
}

/** The packages that `npm ci --omit=dev` installs with this lock file. */
const lockedBy = (path) =>
  Object.entries(JSON.parse(textOf(path)).packages)
    .filter(([place, { dev }]) => place !== '' && !dev)
    .map(([place, { version: exact, license }]) =>
      registered('npm', place.replace(/^.*node_modules\//, ''), exact, license),
    );

const [, python] = /^dependencies = \[(.*)\]$/m.exec(textOf('proto/clients/python/pyproject.toml'));
const { dependencies: typescript } = JSON.parse(textOf('proto/clients/typescript/package.json'));

/** What users of a file install, or the file contains: a part of the file's name, and the packages. */
const installs = {
  '-py3-': [...python.matchAll(/"(\S+) ([^"]+)"/g)].map(([, ...each]) => registered('pypi', ...each)),
  'stampgate-client-': Object.entries(typescript).map((each) => registered('npm', ...each)),
  'stampgate-go-': [...textOf('proto/clients/go/go.mod').matchAll(/^\t(\S+) (v\S+)/gm)].map(([, ...each]) =>
    registered('golang', ...each),
  ),
  '-operations.': lockedBy('proto/generator/package-lock.json'),
};
const contained = { '-try-': [...installedBelow(join(tried, 'lib')), ...lockedBy('deploy/try/package-lock.json')] };

const image = readJson(join(root, 'usr/share/stampgate/sbom.spdx.json'));
const [gateway] = image.packages;
const others = Object.values({ ...installs, ...contained }).flat();
const relateAll = (type, packagesOf) =>
  Object.entries(packagesOf).flatMap(([name, packages]) => packages.map((each) => relate(ownFile(name), type, each)));

console.log(
  listOf(`stampgate-release-${version}`, {
    packages: [...ownFiles, ...image.packages, ...new Map(others.map((each) => [each.SPDXID, each])).values()],
    described: ownFiles,
    relationships: [
      ...[`stampgate-${version}-linux-`, '-image-', '-try-'].map((name) => relate(ownFile(name), 'CONTAINS', gateway)),
      ...['-py3-', 'stampgate-client-', 'stampgate-go-'].map((name) =>
        relate(ownFile('-try-'), 'CONTAINS', ownFile(name)),
      ),
      ...relateAll('DEPENDS_ON', installs),
      ...relateAll('CONTAINS', contained),
      ...image.relationships.filter(({ relationshipType }) => relationshipType !== 'DESCRIBES'),
    ],
  }),
);
