// Checks the rooms, which are the folders of the C++ code: compares the includes of each file with the rules in the
// BUILD files, and with the tables in the READMEs that list which folder may include which.
import { readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const TOP = ['gateway', 'stamp', 'translate', 'webhooks'];

/**
 * Reads the C++ files, BUILD files and pages of the folders in TOP: a map from a path below `root` to the file's text.
 */
export function readTree(root) {
  const files = new Map();
  const walk = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (/\.(cc|h|md)$|^BUILD\.bazel$/.test(entry.name)) files.set(path, readFileSync(join(root, path), 'utf8'));
    }
  };
  TOP.forEach(walk);
  return files;
}

/**
 * The libraries of third_party, by name, with the beginnings of their headers' paths. Boost's TLS needs OpenSSL, so the
 * headers of Boost's TLS count for OpenSSL.
 */
const LIBRARIES = new Map([
  ['absl', ['absl/']],
  ['boost', ['boost/']],
  ['curl', ['curl/']],
  ['grpc', ['grpc/', 'grpcpp/']],
  ['openssl', ['openssl/', 'boost/asio/ssl']],
  ['prometheus', ['prometheus/']],
  ['protobuf', ['google/protobuf/']],
  ['simdjson', ['simdjson.h']],
  ['sodium', ['sodium.h', 'sodium/']],
  ['sqlite', ['sqlite3.h']],
  ['yaml', ['yaml-cpp/']],
]);

/** The labels of the libraries whose headers a text includes. */
function librariesOf(text) {
  const paths = [...text.matchAll(/^#include [<"]([^>"]+)[>"]/gm)].map(([, path]) => path);
  const names = [...LIBRARIES.keys()].filter((name) =>
    LIBRARIES.get(name).some((start) => paths.some((path) => path.startsWith(start) && !/^grpc\/(health|reflection)\//.test(path))),
  );
  return new Set(names.map((name) => `//third_party:${name}`));
}

const isCode = (path) => /\.(cc|h)$/.test(path);
const includesOf = (text) => [...text.matchAll(/^#include "([^"]+\.h)"/gm)].map(([, path]) => path);
const isOurs = (path) => TOP.includes(path.split('/')[0]) && !path.endsWith('.pb.h');

/** The unit of a file: "gateway/audit/log" for log.h, log.cc and log_test.cc in gateway/audit. */
const unitOf = (path) => path.replace(/(_test\.cc|\.cc|\.h)$/, '');

/** The rules in one BUILD file. `deps` and `testDeps` are the labels that the library and its test depend on. */
function rulesOf(folder, text) {
  const labels = (block, attribute) => {
    const [, list = ''] = new RegExp(`^    ${attribute} = \\[([^\\]]*)\\]`, 'm').exec(block) ?? [];
    return [...list.matchAll(/"([^"]+)"/g)].map(([, label]) => absolute(folder, label));
  };
  return [...text.matchAll(/^(unit|unit_test|cc_binary)\(\n([^]*?)^\)/gm)].map(([, kind, block]) => ({
    kind,
    name: /^    name = "([^"]+)"/m.exec(block)[1],
    testonly: /^    testonly = True/m.test(block) || /default_testonly = True/.test(text) || kind === 'unit_test',
    alwayslink: /^    alwayslink = True/m.test(block),
    deps: labels(block, 'deps'),
    testDeps: labels(block, 'test_deps'),
  }));
}

/**
 * The full label: in gateway/audit, "//gateway/audit:log" for ":log"; "//gateway/config:config" for "//gateway/config".
 */
function absolute(folder, label) {
  if (label.startsWith(':')) return `//${folder}${label}`;
  return label.includes(':') ? label : `${label}:${basename(label)}`;
}

const labelOf = (unit) => `//${dirname(unit)}:${basename(unit)}`;

/**
 * For each folder, the folders that it may use according to the tables in the READMEs. A row begins with a link to the
 * folder and ends with the folders that it may use.
 */
export function allowedArrows(files) {
  const allowed = new Map();
  for (const [path, text] of files) {
    if (!path.endsWith('README.md')) continue;
    for (const [, folder, uses] of text.matchAll(/^\| \[`([a-z0-9_/]+)`\]\([^)]*\) \|.*\| ([^|]*) \|$/gm)) {
      allowed.set(folder, new Set([...uses.matchAll(/`([a-z0-9_/]+)`/g)].map(([, used]) => used)));
    }
  }
  return allowed;
}

/** The nodes of the first cycle in a graph, which maps each node to a set of nodes; null if there is no cycle. */
function circleIn(graph) {
  const done = new Set();
  const walk = (node, path) => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return null;
    for (const next of graph.get(node) ?? []) {
      const circle = walk(next, [...path, node]);
      if (circle) return circle;
    }
    done.add(node);
    return null;
  };
  for (const node of graph.keys()) {
    const circle = walk(node, []);
    if (circle) return circle;
  }
  return null;
}

/** The faults in the rooms, each as one line of text. */
export function faultsOf(files) {
  const faults = [];
  const rules = new Map(); // by label
  const testOnly = new Set(); // units
  for (const [path, text] of files) {
    if (basename(path) !== 'BUILD.bazel') continue;
    for (const rule of rulesOf(dirname(path), text)) {
      rules.set(`//${dirname(path)}:${rule.name}`, rule);
      if (rule.testonly) testOnly.add(`${dirname(path)}/${rule.name}`);
    }
  }

  const units = new Map();
  const folders = new Map();
  const add = (graph, from, to) => graph.set(from, (graph.get(from) ?? new Set()).add(to));
  for (const [path, text] of files) {
    if (!isCode(path)) continue;
    const unit = unitOf(path);
    const inTest = path.endsWith('_test.cc');
    const rule = rules.get(labelOf(unit)) ?? rules.get(labelOf(`${unit}_test`));
    if (!rule) {
      if (!rules.has(`//${dirname(path)}:${basename(path, '.cc')}`)) faults.push(`${path}: no rule of its folder has it`);
      continue;
    }
    const named = new Set([...rule.deps, ...(inTest ? rule.testDeps : [])]);
    for (const included of includesOf(text).filter(isOurs)) {
      const other = unitOf(included);
      if (other === unit) continue;
      if (!named.has(labelOf(other))) faults.push(`${path} includes ${included}, which its rule does not name`);
      if (inTest || testOnly.has(unit)) continue;
      if (testOnly.has(other)) faults.push(`${path} includes ${included}, which is for tests`);
      add(units, unit, other);
      if (dirname(other) !== dirname(path)) add(folders, dirname(path), dirname(other));
    }
  }
  for (const [label, rule] of rules) {
    const folder = label.slice(2, label.indexOf(':'));
    const included = (paths) =>
      new Set(paths.flatMap((path) => includesOf(files.get(`${folder}/${path}`) ?? '').map((each) => labelOf(unitOf(each)))));
    const library = included([`${rule.name}.h`, `${rule.name}.cc`]);
    const test = included([`${rule.name}_test.cc`]);
    for (const dep of [...rule.deps, ...rule.testDeps]) {
      const file = files.get(`${dep.slice(2, dep.indexOf(':'))}/BUILD.bazel`);
      const isThere = !file || file.includes(`name = "${dep.slice(dep.indexOf(':') + 1)}"`);
      if (!isThere) faults.push(`${label} names ${dep}, which is not there`);
    }
    const textOf = (path) => files.get(`${folder}/${path}`) ?? '';
    const libraries = librariesOf(textOf(`${rule.name}.h`) + textOf(`${rule.name}.cc`));
    const testLibraries = librariesOf(textOf(`${rule.name}_test.cc`));
    const isLibrary = (dep) => LIBRARIES.has(dep.replace('//third_party:', ''));
    for (const dep of rule.deps.filter(isLibrary)) if (!libraries.has(dep)) faults.push(`${label} names ${dep} and does not include it`);
    for (const dep of rule.testDeps.filter(isLibrary)) if (!testLibraries.has(dep)) faults.push(`${label}_test names ${dep} and does not include it`);
    for (const dep of libraries) if (!rule.deps.includes(dep)) faults.push(`${label} includes ${dep}, which it does not name`);
    const named = [...rule.deps, ...rule.testDeps];
    for (const dep of testLibraries) if (!named.includes(dep)) faults.push(`${label}_test includes ${dep}, which it does not name`);
    const known = (dep) => rules.has(dep) && !rules.get(dep).alwayslink && rule.kind !== 'cc_binary';
    for (const dep of rule.deps.filter(known)) if (!library.has(dep)) faults.push(`${label} names ${dep} and does not include it`);
    for (const dep of rule.testDeps.filter(known)) if (!test.has(dep)) faults.push(`${label}_test names ${dep} and does not include it`);
  }

  const unitCircle = circleIn(units);
  if (unitCircle) faults.push(`a circle of files: ${unitCircle.join(' -> ')}`);
  const folderCircle = circleIn(folders);
  if (folderCircle) faults.push(`a circle of folders: ${folderCircle.join(' -> ')}`);

  const allowed = allowedArrows(files);
  for (const [from, tos] of folders) {
    for (const to of tos) if (!allowed.get(from)?.has(to)) faults.push(`${from} uses ${to}, which no page allows`);
  }
  for (const [from, tos] of allowed) {
    for (const to of tos) if (!folders.get(from)?.has(to)) faults.push(`a page lets ${from} use ${to}, which it does not`);
  }
  return faults;
}
