import assert from "node:assert/strict"
import { test } from "node:test"
import { blocksOf } from "./markdown-html.js"

test("a text is the blocks that it has", () => {
  const types = blocksOf("# Title\n\nSome *text*.\n").map(({ tokens }) => tokens[0]?.type)
  assert.deepEqual(types, ["heading", "paragraph"])
})

test("a text that is nested too deeply for the parser is shown as it was written", () => {
  const text = `${">".repeat(30_000)} deep`

  const blocks = blocksOf(text).map(({ raw, tokens }) => [raw, tokens[0]?.type])
  assert.deepEqual(blocks, [[text, "code"]])
})

test("a block that is nested too deeply to be read is shown as it was written, beside the others", () => {
  for (const nested of [`${">".repeat(50)} deep`, `${"- ".repeat(50)}deep`])
    assert.deepEqual(
      blocksOf(`Hello.\n\n${nested}`).map(({ raw, tokens }) => [raw.trim(), tokens[0]?.type]),
      [
        ["Hello.", "paragraph"],
        [nested, "code"],
      ],
    )
  assert.equal(blocksOf("> > - quoted")[0]?.tokens[0]?.type, "blockquote")
})
