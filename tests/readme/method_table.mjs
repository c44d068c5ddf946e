// Makes the list of methods that proto/README.md contains. If you run this file, it prints the list: copy it to that
// page.
import { pathToFileURL } from 'node:url';
import { services } from '../clients/gateway.mjs';

const nameOf = (value, prefix) => value.slice(prefix.length).toLowerCase();

function row(service, method) {
  const { kind, path = '', activity_type: type, policy_class: policyClass } = method.parsedOptions?.[0]['(operation)'] ?? {};
  const wire = [path.replace('/public/v1/', ''), type].filter(Boolean).join(', ');
  const first = method.comment.split(/(?<=\.)\s/)[0].replaceAll('\n', ' ');
  const known = kind && nameOf(kind, 'OPERATION_KIND_');
  const className = policyClass ? nameOf(policyClass, 'POLICY_CLASS_') : known ? 'dangerous' : 'of the method prepared';
  return `| \`${service.name}/${method.name}\` | ${first} | ${className} | ${known === 'local' ? '' : wire} |`;
}

export function methodTable() {
  const rows = services().flatMap((service) => service.methodsArray.map((method) => row(service, method)));
  return ['| method | what | policy class | upstream |', '|---|---|---|---|', ...rows, ''].join('\n');
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) process.stdout.write(methodTable());
