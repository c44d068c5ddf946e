// Prints the list of the image's software, as SPDX 2.3 in JSON: node sbom.mjs BINARY IMAGE_BINARY RECORDS PACKAGE...
//
// BINARY runs on this machine, and IMAGE_BINARY is the same program as it is in the image. RECORDS is a folder with
// Debian's record of each package. The list contains IMAGE_BINARY, the Debian packages that the arguments name, and the
// packages whose headers or protos are compiled into the binary. The output does not depend on the time or the machine.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const [binary, imageBinary, records, ...names] = process.argv.slice(2);
const ours = new URL('../../', import.meta.url);

function debianPackages(packages) {
  return packages.map((name) => {
    const record = readFileSync(join(records, name), 'utf8');
    const value = (key) => new RegExp(`^${key}: (.*)$`, 'm').exec(record)?.[1];
    const [version, architecture, homepage] = ['Version', 'Architecture', 'Homepage'].map(value);
    // A package without this field is built from the source package of the same name and version.
    const [, source, sourceVersion = version] = /^(\S+)(?: \((.*)\))?$/.exec(value('Source') ?? name);
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-sid`;
    return {
      SPDXID: `SPDXRef-deb-${name.replace(/[^A-Za-z0-9.-]/g, '-')}`,
      name,
      versionInfo: version,
      supplier: 'Organization: Debian',
      downloadLocation: 'NOASSERTION',
      filesAnalyzed: false,
      licenseConcluded: 'NOASSERTION',
      licenseDeclared: 'NOASSERTION',
      copyrightText: 'NOASSERTION',
      sourceInfo: `built from the Debian source package ${source} ${sourceVersion}`,
      ...(homepage && { homepage }),
      externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }],
    };
  });
}

function npmPackage(name) {
  const { dependencies } = JSON.parse(readFileSync(new URL('third_party/npm/package.json', ours), 'utf8'));
  const version = dependencies[name];
  return {
    SPDXID: `SPDXRef-npm-${name}`,
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: 'Apache-2.0',
    copyrightText: 'NOASSERTION',
    externalRefs: [
      { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: `pkg:npm/${name}@${version}` },
    ],
  };
}

const sha256 = createHash('sha256').update(readFileSync(imageBinary)).digest('hex');
const stampgate = {
  SPDXID: 'SPDXRef-stampgate',
  name: 'stampgate',
  versionInfo: execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim().replace('stampgate ', ''),
  downloadLocation: 'NOASSERTION',
  filesAnalyzed: false,
  licenseConcluded: 'Apache-2.0',
  licenseDeclared: 'Apache-2.0',
  copyrightText: 'NOASSERTION',
  primaryPackagePurpose: 'APPLICATION',
  checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }],
};
const shipped = debianPackages(names);
// Two packages are compiled into the binary: Boost, for its HTTP parser in headers; and an npm package with the protos
// of google.rpc.
const boost = readdirSync(records).find((name) => /^libboost[0-9.]+-dev$/.test(name));
const compiledIn = [...debianPackages([boost]), npmPackage('google-proto-files')];

const relate = (from, relationshipType, to) => ({
  spdxElementId: from,
  relationshipType,
  relatedSpdxElement: to.SPDXID,
});
const document = {
  spdxVersion: 'SPDX-2.3',
  dataLicense: 'CC0-1.0',
  SPDXID: 'SPDXRef-DOCUMENT',
  name: `stampgate-${stampgate.versionInfo}`,
  documentNamespace: '',
  creationInfo: {
    created: new Date(Number(process.env.SOURCE_DATE_EPOCH ?? 0) * 1000).toISOString().replace('.000', ''),
    creators: ['Tool: stampgate-deploy-image-sbom'],
  },
  packages: [stampgate, ...shipped, ...compiledIn],
  relationships: [
    relate('SPDXRef-DOCUMENT', 'DESCRIBES', stampgate),
    ...shipped.map((each) => relate(stampgate.SPDXID, 'DEPENDS_ON', each)),
    ...compiledIn.map((each) => relate(stampgate.SPDXID, 'STATIC_LINK', each)),
  ],
};
// SPDX requires a namespace that is unique to this document.
const digest = createHash('sha256').update(JSON.stringify(document)).digest('hex');
document.documentNamespace = `https://stampgate.dev/spdx/${document.name}-${digest}`;
console.log(JSON.stringify(document, null, 2));
