// Tests the Dockerfile: the image that it describes fits the manifests, and docker receives every file that the build
// reads.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run } from '../end_to_end/harness.mjs';
import { root, wholeTree } from '../paths.mjs';
import { USER } from './image_tree.mjs';
import { find, podOf, readAll } from './manifests.mjs';

const tree = wholeTree();

describe('the Dockerfile', () => {
  const text = readFileSync(join(root, 'deploy/image/Dockerfile'), 'utf8');
  const whole = text
    .replace(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim());
  const lines = whole.filter((line) => line && line[0] !== '#');
  const all = (word) => lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));

  it('pins its base by a digest, and its image contains only the files that collect has gathered', () => {
    const [build, last] = all('FROM');
    assert.equal(build, '${BASE} AS build');
    assert.equal(last, 'scratch');
    assert.equal(all('FROM').length, 2);
    const base = all('ARG').find((each) => each.startsWith('BASE='));
    assert.match(base, /^BASE=debian:bookworm-\d{8}-slim@sha256:[0-9a-f]{64}$/);
    const final = lines.slice(lines.indexOf('FROM scratch') + 1);
    assert.deepEqual(
      final.filter((line) => /^(COPY|ADD|RUN|ENV|VOLUME) /.test(line)),
      ['COPY --from=build /image/ /'],
    );
    assert.deepEqual(all('ADD'), [], 'only package managers download files');
  });

  it('runs the gateway with the user, the arguments and the ports of the manifests', () => {
    const pod = podOf(readAll());
    const [container] = pod.containers;
    assert.deepEqual(all('USER'), [`${USER}:${USER}`]);
    assert.equal(pod.securityContext.runAsUser, USER);
    assert.deepEqual(JSON.parse(all('ENTRYPOINT')[0]), ['/stampgate']);
    assert.deepEqual(JSON.parse(all('CMD')[0]), container.args);
    assert.equal(all('EXPOSE')[0], container.ports.map(({ containerPort }) => containerPort).join(' '));
  });

  it('has the version of the program, and so have the manifests', async () => {
    const version = (await run(['--version'])).stdout.trim().replace('stampgate ', '');
    assert.ok(all('ARG').includes(`VERSION=${version}`));
    assert.equal(find(readAll(), 'StatefulSet').spec.template.spec.containers[0].image, `stampgate:${version}`);
    assert.ok(text.includes(`--tag stampgate:${version} `));
    const example = readFileSync(join(root, 'deploy/kubernetes/example/kustomization.yaml'), 'utf8');
    assert.ok(example.includes(`newTag: ${version}\n`));
    const chart = readFileSync(join(root, 'deploy/kubernetes/chart/Chart.yaml'), 'utf8');
    assert.ok(chart.includes(`\nversion: ${version}\nappVersion: ${version}\n`));
  });

  it('gets every folder that the build reads, and no key', () => {
    const ignore = readFileSync(join(root, 'deploy/image/Dockerfile.dockerignore'), 'utf8');
    const rules = ignore.split('\n').filter((line) => line && line[0] !== '#');
    assert.equal(rules[0], '*');
    const folders = readdirSync(tree, { withFileTypes: true })
      .filter((each) => each.isDirectory() && existsSync(join(tree, each.name, 'BUILD.bazel')))
      .map(({ name }) => name)
      .filter((name) => !['deploy', 'tests'].includes(name));
    assert.ok(folders.includes('gateway'));
    for (const name of folders) {
      assert.ok(rules.includes(`!${name}`), name);
    }
    assert.deepEqual(rules.slice(-2), ['**/*.key', '**/*.pem']);
  });

  const docker = spawnSync('docker', ['info'], { stdio: 'ignore' }).status === 0;
  const skip = !docker
    ? 'there is no docker daemon'
    : process.env.STAMPGATE_IMAGE !== '1' && 'the build takes long; set STAMPGATE_IMAGE=1 to run it';
  it('builds with docker, and its image runs', { skip }, () => {
    const shell = (...args) => execFileSync('docker', args, { cwd: tree, encoding: 'utf8' });
    const id = shell('build', '--quiet', '--file', 'deploy/image/Dockerfile', '.').trim();
    const said = shell('run', '--rm', '--read-only', '--network=none', '--cap-drop=ALL', id, '--version');
    assert.match(said, /^stampgate \d/);
    assert.throws(() => shell('run', '--rm', '--entrypoint', '/bin/sh', id, '-c', 'true'));
  });
});
