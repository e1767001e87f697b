/** docs/langgraph-json.md is generated from the table by which the server warns; the table has the fields of the schema. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { knownFields } from "@superstep/server/project/field-warnings"
import { type Field, fields } from "@superstep/server/project/fields"
import { langgraphConfig } from "@superstep/server/project/langgraph-json"
import { expectPage } from "./testing/printed-page.js"

const page = new URL("../../docs/langgraph-json.md", import.meta.url)

const row = ({ path, what, ignored }: Field): string =>
  `| \`${path}\` | ${what}${ignored ? ` *${sentence(ignored)}*` : ""} |`
const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`

const reference = `${[
  "# langgraph.json",
  "The fields of a project's file. The log of a start lists the fields that have no effect here (in italics below) and keys " +
    "that are not in this table. `*` stands for any name. This page is generated from " +
    "`server/src/project/fields.ts`: `UPDATE_DOCS=1 npm test -- langgraph-json-reference` updates it.",
  ["| field | what |", "|---|---|", ...fields.map(row)].join("\n"),
].join("\n\n")}\n`

test("the reference of langgraph.json says what the server does", async () => {
  await expectPage(page, reference)
})

test("every field that may be set is in the table, and no other", () => {
  assert.deepEqual(fields.map(({ path }) => path).sort(), knownFields(langgraphConfig).sort())
})
