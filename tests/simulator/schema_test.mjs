// Tests the readers of the crate, the schema, and its differences from the specification.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { operationsIn } from './schema/client.mjs';
import { differences } from './schema/differences.mjs';
import { schema } from './schema/kinds.mjs';
import { declarationsIn } from './schema/rust.mjs';
import { textOf } from './schema/update.mjs';
import { operations as specified } from './specification.mjs';

describe('the reader of Rust', () => {
  test('reads the fields of structs, with the rules of their comments', () => {
    const { structs } = declarationsIn(`
      #[derive(Debug)] #[serde(rename_all = "camelCase")]
      /// A description, with a } brace.
      pub struct Tea {
        /// How hot it is: { or }.
        /// @inject_tag: validate:"required,min=1"
        #[serde(default)]
        pub r#type: ::std::collections::HashMap<String, ::std::vec::Vec<u8>>,
        pub(crate) cups: u32
      }
      pub struct Empty {}
      pub struct Nothing;`);
    assert.deepEqual(structs.get('Tea'), [
      { name: 'type', type: '::std::collections::HashMap<String,::std::vec::Vec<u8>>', rules: 'required,min=1' },
      { name: 'cups', type: 'u32', rules: undefined },
    ]);
    assert.deepEqual([structs.get('Empty'), structs.get('Nothing')], [[], []]);
  });

  test('reads the variants of enums in modules, with their types and texts', () => {
    const { enums } = declarationsIn(`
      use a::{b, c};
      pub mod tea {
        pub enum Leaf { #[serde(rename = "no")] Green = 0, BlackTea = 1, }
        impl Leaf {
          pub fn as_str_name(&self) -> &'static str {
            match self { Self::Green => "LEAF_GREEN", Self::BlackTea => { "LEAF_BLACK" } }
          }
          pub fn from_str_name(value: &str) -> Option<Self> {
            match value { "LEAF_GREEN" => Some(Self::Green), _ => None }
          }
        }
        pub enum Of { Pot(super::Pot), Bag(String), }
      }
      fn skipped(value: u8) -> u8 { value }
      pub struct Pot { pub size: i32, }`);
    assert.deepEqual(enums.get('tea::Leaf'), [
      { name: 'Green', type: undefined, text: 'LEAF_GREEN' },
      { name: 'BlackTea', type: undefined, text: 'LEAF_BLACK' },
    ]);
    assert.deepEqual(enums.get('tea::Of'), [
      { name: 'Pot', type: 'super::Pot' },
      { name: 'Bag', type: 'String' },
    ]);
  });

  test('refuses a text that ends too early', () => {
    assert.throws(() => declarationsIn('pub struct Tea { pub cups: u32,'), /ends within a declaration/);
  });
});

test("the reader of the client reads a query's and a submit's method", () => {
  const methods = `impl Client {
    pub async fn get_tea(
        &self,
        request: api::GetTeaRequest,
    ) -> Result<api::GetTeaResponse, Error> {
        self.process_request(&request, "/public/v1/query/get_tea".to_string()).await
    }
    pub async fn brew(&self, params: intents::BrewIntentV2) -> Result<Done<intents::BrewResult>, Error> {
        let request = Request {
            r#type: "ACTIVITY_TYPE_BREW_V2".to_string(),
            generate_app_proofs: self.generate_app_proofs(),
        };
        self.process_activity(&request, "/public/v1/submit/brew".to_string()).await?;
        match inner { intents::result::Inner::BrewResult(res) => res }
    }
}`;
  assert.deepEqual(
    [...operationsIn(methods)],
    [
      ['/public/v1/query/get_tea', { kind: 'query', request: 'api::GetTeaRequest', answer: 'api::GetTeaResponse' }],
      [
        '/public/v1/submit/brew',
        {
          ...{ kind: 'submit', type: 'ACTIVITY_TYPE_BREW_V2', parameters: 'intents::BrewIntentV2' },
          ...{ result: 'BrewResult', appProofs: true },
        },
      ],
    ],
  );
});

describe('the schema', () => {
  const TEXTS = ['string', 'decimal', 'ethereumChain', 'solanaChain', 'bytes'];
  const OTHERS = ['bool', 'int32', 'uint32', 'int64', 'uint64', 'double', 'any'];
  const known = new Set([...TEXTS, ...OTHERS, ...Object.keys(schema.messages), ...Object.keys(schema.enums)]);

  test('has all operations', () => {
    const kinds = Object.values(schema.operations).map(({ kind }) => kind);
    assert.equal(kinds.filter((kind) => kind === 'query').length, 77);
    assert.equal(kinds.filter((kind) => kind === 'submit').length, 123);
  });

  test('has every type that it names', () => {
    for (const [message, members] of Object.entries(schema.messages)) {
      for (const [name, text] of Object.entries(members)) {
        const [, type] = /^(\w[\w.]*?)(?:\[\]|\{\})?(?:\(\d*\.\.\d*\))?[?!]?$/.exec(text);
        assert.ok(known.has(type), `${message}.${name} has the type ${type}`);
      }
    }
    for (const { kind, request, answer, versions } of Object.values(schema.operations)) {
      if (kind === 'query') assert.ok(request in schema.messages && answer in schema.messages);
      for (const { intent, result } of Object.values(versions ?? {})) {
        assert.ok(intent in schema.messages.Intent);
        if (result !== undefined) assert.ok(result in schema.messages.Result);
      }
    }
  });

  test('has the members of oneofs in their messages', () => {
    for (const [message, names] of Object.entries(schema.oneofs)) {
      assert.ok(names.length > 1);
      assert.ok(names.every((name) => schema.messages[message][name].endsWith('?')));
    }
  });

  test('has a version for every activity type that a submit sends', () => {
    const types = Object.values(schema.operations).flatMap(({ versions }) => Object.keys(versions ?? {}));
    assert.equal(new Set(types).size, types.length);
    assert.deepEqual(
      types.filter((type) => !schema.enums.ActivityType.includes(type)),
      [],
    );
    assert.ok(!types.some((type) => type.endsWith('UNSPECIFIED')));
  });

  test('is written as update.mjs writes it', () => {
    assert.equal(readFileSync(new URL('schema/schema.json', import.meta.url), 'utf8'), textOf(schema));
  });
});

describe('the table of differences', () => {
  const page = readFileSync(new URL('schema/DIFFERENCES.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(.*?)` \| (.*?) \| (.*?) \| (.*) \|$/gm)].map(([, ...cells]) => cells);

  test('lists every difference between the specification and the schema, and no other one', () => {
    assert.deepEqual(
      rows.map((cells) => cells.slice(0, 3)),
      differences(),
    );
  });

  test('has a decision for each difference', () => {
    assert.deepEqual(
      rows.filter(([, , , decision]) => !/^[A-Z].*\.$/.test(decision)),
      [],
    );
  });

  test('has no operation that the schema does not have', () => {
    assert.deepEqual(
      [...specified.keys()].filter((path) => !(path in schema.operations)),
      [],
    );
  });
});
