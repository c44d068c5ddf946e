// Lists of software, as SPDX 2.3.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A package of a list. `more` replaces or adds members of SPDX. */
export const spdxPackage = (id, name, version, more = {}) => ({
  SPDXID: `SPDXRef-${id.replace(/[^A-Za-z0-9.-]/g, '-')}`,
  name,
  versionInfo: version,
  downloadLocation: 'NOASSERTION',
  filesAnalyzed: false,
  licenseConcluded: 'NOASSERTION',
  licenseDeclared: 'NOASSERTION',
  copyrightText: 'NOASSERTION',
  ...more,
});

/** What a scanner finds a package by: its package URL. */
export const locatedBy = (purl) => ({
  externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }],
});

/** The checksum of a file. */
export const checksumOf = (file) => ({
  checksums: [{ algorithm: 'SHA256', checksumValue: createHash('sha256').update(readFileSync(file)).digest('hex') }],
});

export const relate = (from, relationshipType, to) => ({
  spdxElementId: from.SPDXID,
  relationshipType,
  relatedSpdxElement: to.SPDXID,
});

/**
 * The text of a list that describes the packages `described`. It does not depend on the time or the machine.
 * @param {string} name
 * @param {{packages: any[], relationships: object[], described: any[]}} content
 */
export function listOf(name, { packages, relationships, described }) {
  const document = {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name,
    documentNamespace: '',
    creationInfo: {
      created: new Date(Number(process.env.SOURCE_DATE_EPOCH ?? 0) * 1000).toISOString().replace('.000', ''),
      creators: ['Tool: stampgate-sbom'],
    },
    packages,
    relationships: [
      ...described.map((each) => relate({ SPDXID: 'SPDXRef-DOCUMENT' }, 'DESCRIBES', each)),
      ...relationships,
    ],
  };
  // SPDX requires a namespace that is unique to this document.
  const digest = createHash('sha256').update(JSON.stringify(document)).digest('hex');
  document.documentNamespace = `https://stampgate.dev/spdx/${name}-${digest}`;
  return JSON.stringify(document, null, 2);
}
