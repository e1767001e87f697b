import assert from "node:assert/strict"
import { test } from "node:test"
import { referencePage } from "./reference-page.js"

const note = { type: "object", required: ["title"], properties: { title: { type: "string" } } }
const example = { schema: { $ref: "#/components/schemas/Note" }, example: { title: "<b>" } }
const document = {
  info: { title: "Notes <API>", description: "Keeps notes." },
  components: { schemas: { Note: note } },
  paths: {
    "/notes/{id}": {
      post: {
        tags: ["Notes"],
        summary: "Write & keep",
        parameters: [{ name: "limit", in: "query", schema: { type: "integer" } }],
        requestBody: { content: { "application/json": example } },
        responses: { 200: { description: "The note" } },
      },
    },
  },
}

test("the document's texts are escaped, and the page makes no external requests", () => {
  const page = referencePage(document)

  assert.ok(page.includes("<h1>Notes &lt;API&gt;</h1>"))
  assert.ok(page.includes("&lt;b&gt;"))
  assert.doesNotMatch(page, /<script|<link|<img|src=/)
})
