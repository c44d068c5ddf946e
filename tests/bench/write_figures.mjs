// Writes the table in README.md and the plot beside this file from the results of tests/bench/run.
//
//   node write_figures.mjs FOLDER    FOLDER contains the results, a file NAME.result for each measurement
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const folder = process.argv[2];

// Returns the median of `field` in the results of `name`.
function median(name, field) {
  const text = readFileSync(join(folder, `${name}.result`), 'utf8');
  const values = [...text.matchAll(new RegExp(`\\b${field}=([0-9.]+)`, 'g'))].map((match) => Number(match[1]));
  if (values.length === 0) throw new Error(`${name} has no ${field}`);
  values.sort((a, b) => a - b);
  const middle = values.length >> 1;
  return values.length % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

const cpu = (name) => median(name, 'cpu_us');
const sum = (...names) => names.map(cpu).reduce((a, b) => a + b);
const parts = (call) => sum(`echo_${call}`, `curl_${call}`, `sign_${call}`);
const least = (call) => sum(`h2_${call}`, `post_${call}`, `sign_${call}`);
const calls = ['query', 'submit'];
const row = (title, value) => `| ${title} | ${calls.map(value).join(' | ')} |`;
const added = (field) => (median('rate_gateway', field) - median('rate_direct', field)).toFixed(2);

const table = [
  `| 64 calls in flight, TLS to upstream, P-256, ${cpus().length} cores (${cpus()[0].model.trim()}) | query | submit |`,
  '|---|---|---|',
  row('CPU of a call', (call) => `${cpu(`gateway_${call}`).toFixed(0)} us`),
  row('compared with its parts: a gRPC echo, a libcurl POST, a signature', (call) =>
    (cpu(`gateway_${call}`) / parts(call)).toFixed(2),
  ),
  row('calls a second, beside the clients and upstream', (call) =>
    median(`gateway_${call}`, 'per_second').toLocaleString('en-US'),
  ),
  `| added to a call without a gateway, at 1,000 calls a second: p50; p99 | ${added('p50_ms')} ms; ${added('p99_ms')} ms | |`,
].join('\n');

/** Titles, microseconds and colours. @type {[string, number, string][]} */
const bars = [
  ['the least: nghttp2, TLS, a signature', least('submit'), '#9aa5b1'],
  ['its parts: gRPC, libcurl, a signature', parts('submit'), '#9aa5b1'],
  ['stampgate', cpu('gateway_submit'), '#1f6feb'],
  ['stampgate with the audit log', cpu('audited_64'), '#1f6feb'],
  ['stampgate with audit and idempotency key', cpu('both_64'), '#1f6feb'],
];

function plot() {
  const [left, width, height] = [290, 720, 26];
  const most = Math.max(...bars.map(([, value]) => value));
  const lines = bars.flatMap(([title, value, color], i) => {
    const y = 40 + i * (height + 8);
    const length = ((width - left - 80) * value) / most;
    return [
      `<text x="${left - 10}" y="${y + 18}" text-anchor="end">${title}</text>`,
      `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="${height}" fill="${color}"/>`,
      `<text x="${(left + length + 8).toFixed(1)}" y="${y + 18}">${value.toFixed(0)} us</text>`,
    ];
  });
  const total = 48 + bars.length * (height + 8);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${total}" font-family="sans-serif" font-size="14">
<rect width="100%" height="100%" fill="white"/>
<text x="${left}" y="24" font-weight="bold">CPU of a submit, 64 in flight</text>
${lines.join('\n')}
</svg>
`;
}

// Replaces the text between the two comments.
function replace(file, text) {
  const [begin, end] = ['<!-- tests/bench/run --write: begin -->', '<!-- end -->'];
  const old = readFileSync(file, 'utf8');
  const [from, to] = [old.indexOf(begin), old.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file} has no place for the figures`);
  writeFileSync(file, `${old.slice(0, from + begin.length)}\n${text}\n${old.slice(to)}`);
}

replace(join(here, '../../README.md'), table);
writeFileSync(join(here, 'submit.svg'), plot());
