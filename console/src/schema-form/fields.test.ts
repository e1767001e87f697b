import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldOf, type JsonSchema } from "./fields.js"
import { InvalidJson, initialOf, problemsOf, variantOf } from "./value.js"

const kindOf = (schema: JsonSchema) => fieldOf(schema).kind

test("each type of a JSON schema has its field, and what a form cannot express is edited as JSON", () => {
  assert.deepEqual([kindOf({ type: "string" }), kindOf({ type: ["string", "null"] })], ["text", "text"])
  assert.equal(kindOf({ type: "integer" }), "number")
  assert.equal(kindOf({ type: "boolean" }), "boolean")
  assert.equal(kindOf({ enum: ["a", 1, null] }), "choice")
  assert.equal(kindOf({ const: "card" }), "constant")
  assert.equal(kindOf({ type: "array", items: { type: "string" } }), "list")
  assert.equal(kindOf({ properties: { a: { type: "string" } } }), "object")
  assert.equal(kindOf({ oneOf: [{ const: 1, title: "One" }, { const: 2 }] }), "choice")
  assert.equal(kindOf({ anyOf: [{ type: "string" }, { type: "number" }] }), "variants")
  for (const schema of [
    {},
    true,
    { type: "object" },
    { type: "array" },
    { type: ["string", "number"] },
    { $ref: "http://other" },
  ]) {
    assert.equal(kindOf(schema), "json", JSON.stringify(schema))
  }
})

test("an alternative to null alone is the field itself with its own title, and null is no default", () => {
  const field = fieldOf({ anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }], title: "Amount", default: null })

  assert.deepEqual([field.kind, field.label, field.initial], ["number", "Amount", undefined])
})

test("references and allOf are followed, and a schema that contains itself ends as JSON", () => {
  const tree: JsonSchema = {
    $ref: "#/$defs/node",
    $defs: {
      named: { properties: { name: { type: "string" } }, required: ["name"] },
      node: { allOf: [{ $ref: "#/$defs/named" }], properties: { child: { $ref: "#/$defs/node" } } },
    },
  }

  const field = fieldOf(tree)

  assert.ok(field.kind === "object")
  const properties = field.properties.map(({ name, isRequired, field: { kind } }) => `${name} ${isRequired} ${kind}`)
  assert.deepEqual(properties, ["name true text", "child false object"])
  assert.match(JSON.stringify(field), /"kind":"json"/)
})

test("a form starts with defaults and constants, and leaves optional fields out", () => {
  const field = fieldOf({
    type: "object",
    required: ["kind", "ok", "note", "tags", "place"],
    properties: {
      kind: { const: "refund" },
      ok: { type: "boolean" },
      note: { type: "string" },
      tags: { type: "array", items: { type: "string", default: "x" }, minItems: 2 },
      place: { type: "object", properties: { city: { type: "string", default: "Bonn" } } },
      optional: { type: "number" },
      preset: { type: "number", default: 3 },
    },
  })

  const initial = initialOf(field)

  assert.deepEqual(initial, { kind: "refund", ok: false, tags: ["x", "x"], place: { city: "Bonn" }, preset: 3 })
  assert.deepEqual(problemsOf(field, initial), [{ path: ["note"], message: "Enter a text." }])
})

test("a value with problems says where and what", () => {
  const field = fieldOf({
    type: "object",
    required: ["email", "amount", "address", "tone"],
    properties: {
      email: { type: "string", pattern: "^\\S+@\\S+$" },
      amount: { type: "integer", minimum: 1, maximum: 10 },
      address: { type: "object", required: ["city"], properties: { city: { type: "string", minLength: 2 } } },
      tone: { enum: ["dry", "warm"] },
      items: { type: "array", items: { type: "number" }, maxItems: 2 },
      broken: { type: "string", pattern: "(" },
    },
  })
  const paths = (value: unknown) => problemsOf(field, value).map(({ path }) => path.join("."))
  const valid = { email: "a@b", amount: 3, address: { city: "Rom" }, tone: "dry" }

  assert.deepEqual(paths(valid), [])
  assert.deepEqual(paths({}), ["email", "amount", "address.city", "tone"])
  assert.deepEqual(paths({ ...valid, email: "x", amount: 1.5, tone: "x" }), ["email", "amount", "tone"])
  assert.deepEqual(paths({ ...valid, amount: 11, address: { city: "R" } }), ["amount", "address.city"])
  assert.deepEqual(paths({ ...valid, items: [1, "2"] }), ["items.1"])
  assert.deepEqual(paths({ ...valid, items: [1, 2, 3] }), ["items"])
  assert.deepEqual(paths({ ...valid, broken: "any" }), [])
})

test("of several variants, the one that a value has is found by its constant, its problems or its kind", () => {
  const field = fieldOf({
    oneOf: [
      {
        type: "object",
        required: ["type", "number"],
        properties: { type: { const: "card" }, number: { type: "string" } },
      },
      { type: "object", required: ["type", "iban"], properties: { type: { const: "bank" }, iban: { type: "string" } } },
      { type: "number" },
    ],
  })

  assert.ok(field.kind === "variants")
  const labels = field.variants.map(({ label }) => label)
  assert.deepEqual(labels, ["card", "bank", "Number"])
  assert.equal(variantOf(field, { type: "bank" }), 1)
  assert.equal(variantOf(field, { type: "bank", iban: "DE" }), 1)
  assert.equal(variantOf(field, 3), 2)
  assert.equal(variantOf(field, undefined), 0)
  assert.deepEqual(initialOf(field), { type: "card" })
})

test("text that is not valid JSON is a problem, keeps its variant, and is never sent", () => {
  const field = fieldOf({ properties: { extra: { oneOf: [{ type: "string" }, { title: "Any" }] } } })
  const value = { extra: new InvalidJson("This is no JSON.") }

  assert.deepEqual(problemsOf(field, value), [{ path: ["extra"], message: "This is no JSON." }])
  const [extra] = field.kind === "object" ? field.properties : []
  assert.ok(extra?.field.kind === "variants")
  assert.equal(variantOf(extra.field, value.extra), 1)
  assert.equal(JSON.stringify(value), "{}")
})
