// Prints the list of the image's software, as SPDX 2.3 in JSON:
//
//   node sbom.mjs BINARY IMAGE_BINARY RECORDS SHIPPED COMPILED_IN
//
// BINARY runs on this machine, and IMAGE_BINARY is the same program as it is in the image. RECORDS is a folder with
// Debian's record of each package. SHIPPED names the Debian packages whose files are in the image, and COMPILED_IN
// those that are compiled into the binary, both with spaces between the names. The list contains these, IMAGE_BINARY,
// and the npm package whose protos are compiled into the binary. The output does not depend on the time or the machine.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checksumOf, listOf, locatedBy, relate, spdxPackage } from './spdx.mjs';

const [binary, imageBinary, records, ...lists] = process.argv.slice(2);
const ours = new URL('../../', import.meta.url);

function debianPackages(packages) {
  return packages.map((name) => {
    const record = readFileSync(join(records, name), 'utf8');
    const value = (key) => new RegExp(`^${key}: (.*)$`, 'm').exec(record)?.[1];
    const [version, architecture, homepage] = ['Version', 'Architecture', 'Homepage'].map(value);
    // A package without this field is built from the source package of the same name and version.
    const [, source, sourceVersion = version] = /^(\S+)(?: \((.*)\))?$/.exec(value('Source') ?? name);
    return spdxPackage(`deb-${name}`, name, version, {
      supplier: 'Organization: Debian',
      sourceInfo: `built from the Debian source package ${source} ${sourceVersion}`,
      ...(homepage && { homepage }),
      ...locatedBy(`pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-sid`),
    });
  });
}

function npmPackage(name) {
  const { dependencies } = JSON.parse(readFileSync(new URL('third_party/npm/package.json', ours), 'utf8'));
  const version = dependencies[name];
  return spdxPackage(`npm-${name}`, name, version, {
    licenseDeclared: 'Apache-2.0',
    ...locatedBy(`pkg:npm/${name}@${version}`),
  });
}

const version = execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim().replace('stampgate ', '');
const stampgate = spdxPackage('stampgate', 'stampgate', version, {
  licenseConcluded: 'Apache-2.0',
  licenseDeclared: 'Apache-2.0',
  primaryPackagePurpose: 'APPLICATION',
  ...checksumOf(imageBinary),
});
const [shipped, archives] = lists.map((names) => debianPackages(names.split(' ')));
const compiledIn = [...archives, npmPackage('google-proto-files')];

console.log(
  listOf(`stampgate-${version}`, {
    packages: [stampgate, ...shipped, ...compiledIn],
    described: [stampgate],
    relationships: [
      ...shipped.map((each) => relate(stampgate, 'DEPENDS_ON', each)),
      ...compiledIn.map((each) => relate(stampgate, 'STATIC_LINK', each)),
    ],
  }),
);
