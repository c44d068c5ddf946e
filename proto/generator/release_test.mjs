// Tests the files that a release can come from, and the command, without a network.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { root } from '../../tests/paths.mjs';
import { crateFolder, noCrate, pythonFolder, typesFile, typesText } from './pinned.mjs';
import { releaseIn } from './release.mjs';

const work = mkdtempSync(join(tmpdir(), 'release-test-'));
after(() => rmSync(work, { recursive: true }));

/** Writes a file, whose name says nothing about its content. */
function file(name, content) {
  const path = join(work, name);
  writeFileSync(path, content);
  return path;
}

const sourceOf = (path) => {
  const { release, published } = releaseIn(path, '2026-02-03');
  assert.equal(release.day, '2026-02-03');
  assert.match(release.integrity, /^sha256-/);
  return `${release.source} ${release.version} ${published.operations.length}`;
};

const emptyDocument = {
  swagger: '2.0',
  paths: {},
  definitions: { v1Intent: { type: 'object' }, v1Result: { type: 'object' } },
};

describe('a release is read from', () => {
  test('an OpenAPI document', () => {
    assert.equal(sourceOf(file('document', `\n${JSON.stringify(emptyDocument)}`)), 'openapi 2026-02-03 0');
  });

  test('types for TypeScript, in a file or in a folder', () => {
    assert.equal(sourceOf(file('types', typesText('1.10.0'))), 'npm 2026-02-03 192');
    assert.equal(sourceOf(join(typesFile('1.10.0'), '..')), 'npm 2026-02-03 192');
  });

  test('the packages for Python, unpacked or as wheels', () => {
    assert.equal(sourceOf(pythonFolder()), 'python 0.2.1 188');
    const wheels = join(work, 'wheels');
    mkdirSync(wheels);
    for (const name of ['turnkey_http', 'turnkey_sdk_types']) {
      const parts = readdirSync(pythonFolder()).filter((part) => part.startsWith(name));
      const made = spawnSync('python3', ['-m', 'zipfile', '-c', join(wheels, `${name}.whl`), ...parts], {
        cwd: pythonFolder(),
      });
      assert.equal(made.status, 0, String(made.stderr));
    }
    assert.equal(sourceOf(wheels), 'python 0.2.1 188');
    assert.throws(() => sourceOf(join(wheels, 'turnkey_http.whl')), /has no turnkey_sdk_types\/generated\/types.py/);
  });

  test('a crate, in a file or in a folder', { skip: noCrate }, () => {
    assert.equal(sourceOf(crateFolder()), 'crate 0.17.1 193');
    const path = join(work, 'turnkey_client-0.17.2.crate');
    cpSync(join(crateFolder(), 'turnkey_client-0.17.1.crate'), path);
    assert.throws(() => sourceOf(path), /turnkey_client-0.17.2/);
    cpSync(join(crateFolder(), 'turnkey_client-0.17.1.crate'), join(work, 'crate'));
    assert.throws(() => sourceOf(join(work, 'crate')), /does not have the name of a crate/);
  });
});

describe('update', () => {
  const tree = join(work, 'tree');
  for (const folder of ['proto/generator', 'proto/reviewed', 'proto/stampgate'])
    cpSync(join(root, folder), join(tree, folder), { recursive: true, dereference: true });
  mkdirSync(join(tree, 'tests'));
  cpSync(join(root, 'tests/paths.mjs'), join(tree, 'tests/paths.mjs'), { dereference: true });
  for (const lock of ['METHODS.md', 'service_config.json'])
    if (existsSync(join(root, 'proto', lock)))
      cpSync(join(root, 'proto', lock), join(tree, 'proto', lock), { dereference: true });

  const contents = () =>
    new Map(
      readdirSync(join(tree, 'proto'), { recursive: true, encoding: 'utf8', withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
        .map((path) => [path, readFileSync(path, 'utf8')]),
    );

  /** Runs the command without a network and without the registries' clients. */
  function update(...args) {
    const offline = 'globalThis.fetch = async () => { throw new Error("no network") };';
    const options = `--import=data:text/javascript,${encodeURIComponent(offline)}`;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [options, join(tree, 'proto/generator/update'), ...args],
      {
        env: { ...process.env, PATH: '/nowhere' },
        encoding: 'utf8',
      },
    );
    return { status, stdout, stderr };
  }

  const api = () => JSON.parse(readFileSync(join(tree, 'proto/generator/published.json'), 'utf8'));

  test('lists its calls, and refuses others', () => {
    const { status, stdout } = update('--help');
    assert.equal(status, 0);
    for (const call of ['latest', 'VERSION', '--from FILE [DAY]', '--check', '--help'])
      assert.ok(stdout.includes(`generator/update ${call} `) || stdout.includes(`update ${call}\n`), call);
    for (const args of [['--from'], ['--from', 'a', 'yesterday'], ['--chekc'], ['1.10.0', '1.9.0']]) {
      assert.deepEqual(update(...args), { status: 2, stdout, stderr: '' });
    }
  });

  test('--check fails with 2 if a registry cannot be read, names it, and changes no file', () => {
    const before = contents();
    const { status, stdout, stderr } = update('--check');
    assert.deepEqual([status, stdout], [2, '']);
    for (const source of ['npm', 'python', 'crate']) assert.ok(stderr.includes(`the source ${source} cannot be read`));
    assert.deepEqual(contents(), before);
  });

  test('--from writes nothing while sources disagree about something that the table does not decide', () => {
    const python = join(work, 'python');
    cpSync(pythonFolder(), python, { recursive: true, dereference: true });
    const info = (version) => join(python, `turnkey_sdk_types-${version}.dist-info`);
    renameSync(info('0.2.1'), info('0.2.9'));
    const types = join(python, 'turnkey_sdk_types/generated/types.py');
    const changed = readFileSync(types, 'utf8').replace(
      /(class v1CreateWalletIntent\(.*\n {4}walletName: )str/,
      '$1bool',
    );
    writeFileSync(types, changed);
    const before = contents();
    const { status, stdout } = update('--from', python, '2098-01-01');
    assert.equal(status, 1);
    assert.match(stdout, /- v1CreateWalletIntent.walletName is of kind bool in python 0.2.9, and string elsewhere\.\n/);
    assert.deepEqual(contents(), before);
  });

  test('--from follows a document: the rest of the API stays, and what the document lacks is deprecated', () => {
    const request = {
      type: 'object',
      properties: { organizationId: { type: 'string' } },
      required: ['organizationId'],
    };
    const path = '/public/v1/query/get_teapot';
    const post = {
      parameters: [{ in: 'body', schema: { $ref: '#/definitions/v1GetTeapotRequest' } }],
      responses: { 200: { schema: { $ref: '#/definitions/v1GetTeapotResponse' } } },
    };
    const document = {
      paths: { [path]: { post } },
      definitions: {
        ...emptyDocument.definitions,
        v1GetTeapotRequest: request,
        v1GetTeapotResponse: { type: 'object' },
      },
    };
    const known = Object.keys(api().operations);
    const { status, stdout } = update('--from', file('teapot', JSON.stringify(document)), '2099-01-01');
    assert.equal(status, 0);
    assert.match(stdout, /openapi 2099-01-01 of 2099-01-01:\n(- .*\n)*- \/public\/v1\/query\/get_teapot is new\.\n/);
    assert.deepEqual(Object.keys(api().operations), [...known, path]);
    const service = readFileSync(join(tree, 'proto/stampgate/v1/organization_service.proto'), 'utf8');
    assert.match(service, /rpc GetTeapot\([^}]*since: "2099-01-01"/);
    assert.match(service, /no longer publishes this operation,\s+(\/\/ )?since openapi 2099-01-01/);
  });
});
