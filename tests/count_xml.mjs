// Counts the test cases of a `bazel test` by the XML reports that its --build_event_json_file names, and prints
// "PASSED FAILED SKIPPED". A target without cases in its report counts as one case; so does one that failed beside them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const events = readFileSync(process.argv[2], 'utf8').split('\n').filter((line) => line !== '');
let passed = 0;
let failed = 0;
let skipped = 0;

for (const { testResult } of events.map((line) => JSON.parse(line))) {
  if (testResult === undefined) continue;
  const ok = testResult.status === 'PASSED';
  const report = testResult.testActionOutput?.find(({ name }) => name === 'test.xml');
  const xml = report === undefined ? '' : readFileSync(fileURLToPath(report.uri), 'utf8');
  // GoogleTest's cases and Node's: <testcase ... /> or <testcase ...>...</testcase>. Node leaves ">" in names as it is.
  const cases = xml.match(/<testcase\b(?:"[^"]*"|[^">])*?(?:\/>|>[\s\S]*?<\/testcase>)/g) ?? [];
  const bad = cases.filter((text) => /<(failure|error)\b/.test(text)).length;
  const out = cases.filter((text) => /result="(skipped|suppressed)"|<skipped\b/.test(text)).length;
  failed += bad;
  skipped += out;
  passed += cases.length - bad - out;
  if (!ok && bad === 0) failed += 1;
  if (ok && cases.length === 0) passed += 1;
}
console.log(`${passed} ${failed} ${skipped}`);
