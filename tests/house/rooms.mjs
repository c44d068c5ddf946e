// Checks the rooms, which are the folders of the C++ code: compares the includes of each file with the rules in the
// BUILD files, and with the tables in the READMEs that list which folder may include which.
//
//   node tests/house/rooms.mjs --write    writes into the BUILD files what the files include, and the last column of the
//                                         tables in the READMEs. Then run tests/lint --fix, and read the difference
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TOP = ['base', 'gateway', 'stamp', 'translate', 'webhooks'];

/** Every folder may use this one, so the tables do not list who does. */
const EVERYWHERE = 'base/time';

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
    LIBRARIES.get(name).some((start) =>
      paths.some((path) => path.startsWith(start) && !/^grpc\/(health|reflection)\//.test(path)),
    ),
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

/** False if the label names a target of our folders that does not exist. */
function isThere(files, label) {
  const [folder, name] = label.slice(2).split(':');
  const file = files.get(`${folder}/BUILD.bazel`);
  return !file || file.includes(`name = "${name}"`);
}

const labelOf = (unit) => `//${dirname(unit)}:${basename(unit)}`;

/** A row about a folder: its name, and the column with the folders that it may use. */
const ROW = /^\| \[`([a-z0-9_/]+)`\]\([^)]*\) \|.*\| ([^|]*) \|$/gm;

/**
 * For each folder, the folders that it may use according to the tables in the READMEs. A row begins with a link to the
 * folder and ends with the folders that it may use.
 */
export function allowedArrows(files) {
  const allowed = new Map();
  for (const [path, text] of files) {
    if (!path.endsWith('README.md')) continue;
    for (const [, folder, uses] of text.matchAll(ROW)) {
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

/**
 * The text of a BUILD file whose rules name what their files include. Keeps the labels that no include can explain, such
 * as those of generated headers.
 */
function written(files, folder, text, rules) {
  const explained = (label) => {
    const rule = rules.get(label);
    return (
      !isThere(files, label) ||
      LIBRARIES.has(label.replace('//third_party:', '')) ||
      (rule && !rule.alwayslink && rule.kind !== 'cc_binary')
    );
  };
  return rulesOf(folder, text).reduce((all, rule) => {
    if (rule.kind === 'cc_binary') return all;
    const of = (...paths) => {
      const code = paths.map((path) => files.get(`${folder}/${path}`) ?? '').join('');
      const ours = includesOf(code)
        .filter(isOurs)
        .map((path) => labelOf(unitOf(path)));
      return [...librariesOf(code), ...ours.filter((label) => rules.has(label))];
    };
    const self = `//${folder}:${rule.name}`;
    const deps = new Set([...rule.deps.filter((dep) => !explained(dep)), ...of(`${rule.name}.h`, `${rule.name}.cc`)]);
    const testDeps = new Set([...rule.testDeps.filter((dep) => !explained(dep)), ...of(`${rule.name}_test.cc`)]);
    for (const dep of deps) testDeps.delete(dep);
    for (const set of [deps, testDeps]) set.delete(self);
    const withDeps = replaceList(all, rule, 'deps', shortened(folder, deps));
    return rule.kind === 'unit' ? replaceList(withDeps, rule, 'test_deps', shortened(folder, testDeps)) : withDeps;
  }, text);
}

/**
 * Labels as BUILD files have them: ":log" within the folder, and "//webhooks/log" for "//webhooks/log:log", in the order
 * of buildifier.
 */
function shortened(folder, labels) {
  const short = [...labels].map((label) => {
    const [path, name] = label.slice(2).split(':');
    if (path === folder) return `:${name}`;
    return basename(path) === name ? `//${path}` : label;
  });
  // The character 1 is less than every one in a label.
  const key = (label) => [':', '/', '@'].indexOf(label[0]) + label.replaceAll(/[.:]/g, '\u0001');
  return short.sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Replaces the list `attribute` of a rule. Adds it behind the name if the rule has none, and removes an empty list. */
function replaceList(text, { kind, name }, attribute, labels) {
  const lines = labels.map((label) => `        "${label}",\n`).join('');
  const value = labels.length === 1 ? `["${labels[0]}"]` : `[\n${lines}    ]`;
  const list = labels.length === 0 ? '' : `    ${attribute} = ${value},\n`;
  return text.replace(new RegExp(`^${kind}\\(\\n    name = "${name}",\\n[^]*?^\\)`, 'm'), (block) => {
    const present = new RegExp(`^    ${attribute} = \\[[^\\]]*\\],\\n`, 'm');
    if (present.test(block)) return block.replace(present, list);
    return block.replace(/^    name = .*\n/m, (line) => line + list);
  });
}

/** The files whose text changes if the rules and the tables follow the includes, with their new texts. */
export function writtenFiles(files) {
  const rules = allRules(files);
  const texts = new Map(files);
  for (const [path, text] of files) {
    if (basename(path) === 'BUILD.bazel') texts.set(path, written(files, dirname(path), text, rules));
  }
  const { folders } = graphsOf(texts, allRules(texts), []);
  for (const [path, text] of texts) {
    if (!path.endsWith('README.md')) continue;
    texts.set(
      path,
      text.replace(ROW, (row, folder, uses) => {
        const used =
          [...(folders.get(folder) ?? [])]
            .sort()
            .map((each) => `\`${each}\``)
            .join(', ') || 'nothing';
        return row.replace(new RegExp(`\\| ${escaped(uses)} \\|$`), `| ${used} |`);
      }),
    );
  }
  return new Map([...texts].filter(([path, text]) => text !== files.get(path)));
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** All rules, by label. */
function allRules(files) {
  const rules = new Map();
  for (const [path, text] of files) {
    if (basename(path) !== 'BUILD.bazel') continue;
    for (const rule of rulesOf(dirname(path), text)) rules.set(`//${dirname(path)}:${rule.name}`, rule);
  }
  return rules;
}

/** The faults in the rooms, each as one line of text. */
export function faultsOf(files) {
  const faults = [];
  const rules = allRules(files);
  const { units, folders } = graphsOf(files, rules, faults);
  checkRules(files, rules, faults);

  const unitCircle = circleIn(units);
  if (unitCircle) faults.push(`a circle of files: ${unitCircle.join(' -> ')}`);
  const folderCircle = circleIn(folders);
  if (folderCircle) faults.push(`a circle of folders: ${folderCircle.join(' -> ')}`);

  const allowed = allowedArrows(files);
  for (const [from, tos] of folders) {
    for (const to of tos) if (!allowed.get(from)?.has(to)) faults.push(`${from} uses ${to}, which no page allows`);
  }
  for (const [from, tos] of allowed) {
    for (const to of tos)
      if (!folders.get(from)?.has(to)) faults.push(`a page lets ${from} use ${to}, which it does not`);
  }
  return faults;
}

/** Which units and which folders include each other, without what is for tests. Adds faults in the includes to `faults`. */
function graphsOf(files, rules, faults) {
  const isForTests = (unit) => rules.get(labelOf(unit))?.testonly;
  const units = new Map();
  const folders = new Map();
  const add = (graph, from, to) => graph.set(from, (graph.get(from) ?? new Set()).add(to));
  for (const [path, text] of files) {
    if (!isCode(path)) continue;
    const unit = unitOf(path);
    const inTest = path.endsWith('_test.cc');
    const rule = rules.get(labelOf(unit)) ?? rules.get(labelOf(`${unit}_test`));
    if (!rule) {
      if (!rules.has(`//${dirname(path)}:${basename(path, '.cc')}`))
        faults.push(`${path}: no rule of its folder has it`);
      continue;
    }
    const named = new Set([...rule.deps, ...(inTest ? rule.testDeps : [])]);
    for (const included of includesOf(text).filter(isOurs)) {
      const other = unitOf(included);
      if (other === unit) continue;
      if (!named.has(labelOf(other))) faults.push(`${path} includes ${included}, which its rule does not name`);
      if (inTest || isForTests(unit)) continue;
      if (isForTests(other)) faults.push(`${path} includes ${included}, which is for tests`);
      add(units, unit, other);
      if (![dirname(path), EVERYWHERE].includes(dirname(other))) add(folders, dirname(path), dirname(other));
    }
  }
  return { units, folders };
}

/** Adds the differences between the rules and the includes to `faults`. */
function checkRules(files, rules, faults) {
  for (const [label, rule] of rules) {
    const folder = label.slice(2, label.indexOf(':'));
    const included = (paths) =>
      new Set(
        paths.flatMap((path) => includesOf(files.get(`${folder}/${path}`) ?? '').map((each) => labelOf(unitOf(each)))),
      );
    const library = included([`${rule.name}.h`, `${rule.name}.cc`]);
    const test = included([`${rule.name}_test.cc`]);
    for (const dep of [...rule.deps, ...rule.testDeps]) {
      if (!isThere(files, dep)) faults.push(`${label} names ${dep}, which is not there`);
    }
    const textOf = (path) => files.get(`${folder}/${path}`) ?? '';
    const libraries = librariesOf(textOf(`${rule.name}.h`) + textOf(`${rule.name}.cc`));
    const testLibraries = librariesOf(textOf(`${rule.name}_test.cc`));
    const isLibrary = (dep) => LIBRARIES.has(dep.replace('//third_party:', ''));
    for (const dep of rule.deps.filter(isLibrary))
      if (!libraries.has(dep)) faults.push(`${label} names ${dep} and does not include it`);
    for (const dep of rule.testDeps.filter(isLibrary))
      if (!testLibraries.has(dep)) faults.push(`${label}_test names ${dep} and does not include it`);
    for (const dep of libraries)
      if (!rule.deps.includes(dep)) faults.push(`${label} includes ${dep}, which it does not name`);
    const named = [...rule.deps, ...rule.testDeps];
    for (const dep of testLibraries)
      if (!named.includes(dep)) faults.push(`${label}_test includes ${dep}, which it does not name`);
    const known = (dep) => rules.has(dep) && !rules.get(dep).alwayslink && rule.kind !== 'cc_binary';
    for (const dep of rule.deps.filter(known))
      if (!library.has(dep)) faults.push(`${label} names ${dep} and does not include it`);
    for (const dep of rule.testDeps.filter(known))
      if (!test.has(dep)) faults.push(`${label}_test names ${dep} and does not include it`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] !== '--write') {
    console.error('usage: node tests/house/rooms.mjs --write');
    process.exit(2);
  }
  const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
  for (const [path, text] of writtenFiles(readTree(root))) {
    writeFileSync(join(root, path), text);
    console.log(path);
  }
}
