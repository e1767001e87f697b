import assert from "node:assert/strict"
import { test } from "node:test"
import { blockOfFile, contentOf, filesIn, mostFileBytes, readAttachment } from "./attachments.js"
import { shownMessages } from "./messages.js"

test("files that are attached are shown in the message that has them", async () => {
  const image = await readAttachment(new File([new Uint8Array([1, 2, 3])], "dot.png", { type: "image/png" }))
  const text = await readAttachment(new File(["a,b"], "table.csv", { type: "text/csv" }))

  const [message] = shownMessages([{ type: "human", content: contentOf("look", [image, text]) }])

  assert.deepEqual(message?.blocks, [
    { kind: "text", text: "look" },
    { kind: "image", url: "data:image/png;base64,AQID" },
    { kind: "file", name: "table.csv", mimeType: "text/csv", url: "data:text/csv;base64,YSxi" },
  ])
})

test("a message without files stays a text, and one without a text has only its files", () => {
  const block = blockOfFile({ name: "x", type: "", data: "AAAA" })

  assert.equal(contentOf("hi", []), "hi")
  assert.deepEqual(contentOf(" ", [block]), [block])
  assert.deepEqual(filesIn(contentOf("hi", [block])), [block])
  assert.deepEqual(filesIn("hi"), [])
})

test("a large file is refused with its size", async () => {
  const file = new File([new Uint8Array(mostFileBytes + 100_000)], "film.mp4", { type: "video/mp4" })

  await assert.rejects(readAttachment(file), /film.mp4 has 5.1 MB. A file may have at most 5 MB./)
})
