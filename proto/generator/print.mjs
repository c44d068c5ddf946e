// Writes files of protos as text, in the format of `buf format`.

const width = 120;

/** Breaks a comment into lines. A blank line in `text` separates paragraphs. */
function comment(text, indent) {
  const prefix = `${indent}// `;
  const lines = [];
  for (const paragraph of text.split('\n\n')) {
    if (lines.length > 0) lines.push(`${indent}//`);
    let line = prefix.trimEnd();
    for (const word of paragraph.split(/\s+/)) {
      if (line.length + 1 + word.length > width && line.length > prefix.length) {
        lines.push(line);
        line = prefix.trimEnd();
      }
      line += ` ${word}`;
    }
    lines.push(line);
  }
  return lines;
}

const deprecation = ({ deprecated }) => (deprecated ? [['deprecated', 'true']] : []);

/** The options of a field or value, and the semicolon that ends it. */
function optionText(options, indent) {
  if (options.length === 0) return ';';
  if (options.length === 1) return ` [${options[0].join(' = ')}];`;
  const lines = options.map(([name, value]) => `${indent}  ${name} = ${value}`);
  return ` [\n${lines.join(',\n')}\n${indent}];`;
}

function field(one, indent) {
  const label = one.label ? `${one.label} ` : '';
  const head = `${indent}${label}${one.type} ${one.name} = ${one.number}`;
  const options = [...one.options, ...deprecation(one)];
  return [...comment(one.comment, indent), head + optionText(options, indent)];
}

function message(one) {
  const head = comment(one.comment, '');
  const body = [];
  if (one.atMostOne) {
    body.push(
      '  option (message) = {',
      '    at_most_one: [',
      one.atMostOne.map((name) => `      "${name}"`).join(',\n'),
      '    ]',
      '  };',
      '',
    );
  }
  if (one.retired.length > 0) {
    body.push(
      `  reserved ${one.retired.map(([, number]) => number).join(', ')};`,
      `  reserved ${one.retired.map(([name]) => `"${name}"`).join(', ')};`,
      '',
    );
  }
  if (one.oneof) {
    body.push(
      ...comment(one.oneofComment, '  '),
      `  oneof ${one.oneof} {`,
      ...one.fields.flatMap((each) => field(each, '    ')),
      '  }',
    );
  } else {
    body.push(...one.fields.flatMap((each) => field(each, '  ')));
  }
  if (body.length === 0) return [...head, `message ${one.name} {}`];
  return [...head, `message ${one.name} {`, ...body, '}'];
}

function enumeration(one) {
  const values = one.values.flatMap((value) => {
    const options = [...(value.json ? [['(enum_value).json_name', `"${value.json}"`]] : []), ...deprecation(value)];
    return [...comment(value.comment, '  '), `  ${value.name} = ${value.number}${optionText(options, '  ')}`];
  });
  return [...comment(one.comment, ''), `enum ${one.name} {`, ...values, '}'];
}

function service(one) {
  const methods = one.methods.flatMap((method) => [
    ...comment(method.comment, '  '),
    `  rpc ${method.name}(${method.name}Request) returns (${method.name}Response) {`,
    ...(method.deprecated ? ['    option deprecated = true;'] : []),
    '    option (operation) = {',
    ...method.options.map(([name, value]) => `      ${name}: ${value}`),
    '    };',
    '  }',
  ]);
  return [...comment(one.comment, ''), `service ${one.name} {`, ...methods, '}'];
}

/** The text of a file. @param {import('./api.mjs').File} file */
export function printFile(file) {
  const uses = (type) =>
    file.elements.some((one) => one.kind === 'message' && one.fields.some((each) => each.type === type));
  const imports = new Set(file.imports);
  if (!uses('ClientStamp')) imports.delete('stampgate/v1/client_stamp.proto');
  imports.delete(file.path);
  const blocks = [
    [...comment(file.comment, ''), 'syntax = "proto3";'],
    ['package stampgate.v1;'],
    ...(imports.size > 0 ? [[...imports].sort().map((path) => `import "${path}";`)] : []),
    [
      'option csharp_namespace = "Stampgate.V1";',
      'option go_package = "stampgate.dev/gen/stampgate/v1;stampgatev1";',
      'option java_multiple_files = true;',
      'option java_package = "dev.stampgate.v1";',
    ],
    ...(file.service ? [service(file.service)] : []),
    ...file.elements.map((element) => (element.kind === 'enum' ? enumeration(element) : message(element))),
  ];
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}
