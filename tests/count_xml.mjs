// Counts the test cases of a `bazel test` in the XML reports that its --build_event_json_file names, and prints
// "PASSED FAILED SKIPPED". A target without cases in its report counts as one case. If a target failed although none of
// its cases did, this counts as one more failed case.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const events = readFileSync(process.argv[2], 'utf8')
  .split('\n')
  .filter((line) => line !== '');
let passed = 0;
let failed = 0;
let skipped = 0;

for (const { testResult } of events.map((line) => JSON.parse(line))) {
  if (testResult === undefined) continue;
  const ok = testResult.status === 'PASSED';
  const report = testResult.testActionOutput?.find(({ name }) => name === 'test.xml');
  const xml = report === undefined ? '' : readFileSync(fileURLToPath(report.uri), 'utf8');
  // GoogleTest and Node write <testcase ... /> or <testcase ...>...</testcase>. Node does not escape ">" in names.
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
