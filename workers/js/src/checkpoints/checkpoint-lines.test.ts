import assert from "node:assert/strict"
import { test } from "node:test"
import { HumanMessage } from "@langchain/core/messages"
import { MemorySaver } from "@langchain/langgraph"
import type { Serde } from "../loading/langgraph.js"
import { encodeBlobs, encodeWrites } from "./checkpoint-lines.js"

const { serde } = new MemorySaver() as { serde: Serde }

const unsaved: Readonly<Record<string, unknown>> = {
  "a bigint": { amount: 10n, keep: "important" },
  "a bigint in a map": new Map([["a", new Set([1n])]]),
  "a bigint in a message": [new HumanMessage({ content: "x", additional_kwargs: { rows: 10n } })],
}

for (const [name, value] of Object.entries(unsaved)) {
  test(`a value that the serialiser would replace by a text is refused: ${name}`, async () => {
    const expected = /^TypeError: "rows" cannot be saved: .*BigInt.*\. Use a value that JSON has/

    await assert.rejects(encodeBlobs(serde, { rows: value }, { rows: 1 }), expected)
    await assert.rejects(encodeWrites(serde, { taskId: "t", taskPath: "" }, [["rows", value]]), expected)
  })
}

test("a value whose own form fails is refused with the reason, and the text itself is saved", async () => {
  const failing = {
    toJSON: () => {
      throw new Error("no form")
    },
  }
  const text = "[unable to serialize, circular reference is too complex to analyze]"

  await assert.rejects(encodeBlobs(serde, { x: failing }, { x: 1 }), /"x" cannot be saved: no form\. /)
  assert.deepEqual((await encodeBlobs(serde, { x: text }, { x: 1 })).lines, [["blob", JSON.stringify(text)]])
})
