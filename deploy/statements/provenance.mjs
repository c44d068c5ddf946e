// Prints the provenance of a release: node provenance.mjs VERSION FOLDER [COMMIT]
//
// An in-toto statement (v1) with a SLSA provenance (v1). Its subjects are the files of FOLDER. It names the commit from
// which they are made, and the files of the tree that pin everything else: the package root with compiler and libraries,
// and the packages of each registry. The output does not depend on the time or the machine.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [version, folder, commit] = process.argv.slice(2);
const tree = fileURLToPath(new URL('../../', import.meta.url));
const SOURCE = 'https://stampgate.dev/source';

/** The files that pin what a build reads beside the tree. */
const PINS = [
  'third_party/root/lock',
  'third_party/npm/package-lock.json',
  'deploy/try/package-lock.json',
  'proto/clients/go/go.sum',
  'proto/clients/python/requirements.txt',
  'proto/clients/typescript/package-lock.json',
  'proto/generator/package-lock.json',
  'tests/clients/package-lock.json',
];

const digestOf = (path) => ({ sha256: createHash('sha256').update(readFileSync(path)).digest('hex') });

const statement = {
  _type: 'https://in-toto.io/Statement/v1',
  subject: readdirSync(folder)
    .sort()
    .map((name) => ({ name, digest: digestOf(join(folder, name)) })),
  predicateType: 'https://slsa.dev/provenance/v1',
  predicate: {
    buildDefinition: {
      buildType: `${SOURCE}/deploy/release`,
      externalParameters: { version },
      resolvedDependencies: [
        ...(commit ? [{ uri: `git+${SOURCE}`, digest: { gitCommit: commit } }] : []),
        ...PINS.map((path) => ({ uri: `${SOURCE}/${path}`, digest: digestOf(join(tree, path)) })),
      ],
    },
    runDetails: { builder: { id: `${SOURCE}/deploy/release` } },
  },
};
console.log(JSON.stringify(statement, null, 2));
