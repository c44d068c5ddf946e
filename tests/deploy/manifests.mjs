// Reads the manifests of deploy/kubernetes as JavaScript objects.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../paths.mjs';
import { load } from './packages.mjs';

const yaml = load('yaml');

export const folder = join(root, 'deploy/kubernetes');

const yamlFiles = (name) =>
  readdirSync(join(folder, name))
    .sort()
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => join(folder, name, file));

/** The content of the kustomization.yaml of each folder, and the names of the files in the folder. */
export const kustomizations = ['base', 'example'].map((name) => ({
  name,
  files: yamlFiles(name).map((file) => file.slice(folder.length + name.length + 2)),
  ...yaml.parse(readFileSync(join(folder, name, 'kustomization.yaml'), 'utf8')),
}));

/** Every file of manifests. */
export const manifestFiles = ['base', 'example']
  .flatMap(yamlFiles)
  .filter((file) => !file.endsWith('kustomization.yaml'));

/** The objects of a YAML text. Kubernetes reads YAML 1.1, where 0440 is octal. */
export function parse(text) {
  return yaml.parseAllDocuments(text, { version: '1.1' }).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS();
  });
}

/** All objects of base and example. Each call returns new objects, which a test may change. */
export const readAll = () => manifestFiles.flatMap((file) => parse(readFileSync(file, 'utf8')));

/** Returns the object of this kind and name. Fails unless `objects` contain exactly one. */
export function find(objects, kind, name = 'stampgate') {
  const found = objects.filter((each) => each.kind === kind && each.metadata.name === name);
  assert.equal(found.length, 1, `${kind} ${name}`);
  return found[0];
}

export const podOf = (objects) => find(objects, 'StatefulSet').spec.template.spec;

/** The gateway's config in the manifests of the example. */
export const configTextOf = (objects) => find(objects, 'Secret', 'stampgate-config').stringData['stampgate.yaml'];
export const configOf = (objects) => yaml.parse(configTextOf(objects));
