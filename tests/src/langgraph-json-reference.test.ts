/** docs/langgraph-json.md is printed from the table that the server warns by, and the table names what the schema does. */
import assert from "node:assert/strict"
import { readFile, writeFile } from "node:fs/promises"
import { test } from "node:test"
import { knownFields } from "@superstep/server/project/field-warnings"
import { type Field, fields } from "@superstep/server/project/fields"
import { langgraphConfig } from "@superstep/server/project/langgraph-json"

const page = new URL("../../docs/langgraph-json.md", import.meta.url)

const row = ({ path, what, ignored }: Field): string =>
  `| \`${path}\` | ${what}${ignored ? ` *${sentence(ignored)}*` : ""} |`
const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`

const reference = `${[
  "# langgraph.json",
  "What a project's file may say, and what it does here. A field in italics is read and does nothing, and the log says " +
    "so at the start; so it does for a key that is not in this table. `*` is any name. This page is printed from " +
    "`server/src/project/fields.ts`: `UPDATE_DOCS=1 npm test -- langgraph-json-reference` writes it anew.",
  ["| field | what |", "|---|---|", ...fields.map(row)].join("\n"),
].join("\n\n")}\n`

test("the reference of langgraph.json says what the server does", async () => {
  if (process.env.UPDATE_DOCS === "1") await writeFile(page, reference)

  assert.equal(await readFile(page, "utf8"), reference)
})

test("every field that may be set is in the table, and no other", () => {
  assert.deepEqual(fields.map(({ path }) => path).sort(), knownFields(langgraphConfig).sort())
})
