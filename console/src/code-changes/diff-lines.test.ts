import assert from "node:assert/strict"
import { test } from "node:test"
import { countsOf, diffLines } from "./diff-lines.js"

test("each line of a diff says whether it was added or removed, also where the code itself begins with a sign", () => {
  const lines = diffLines("@@ -1,2 +1,2 @@ function a() {\n same\n---a\n++b\n\\ No newline at end of file\n")

  assert.deepEqual(lines, [
    { kind: "place", text: "@@ -1,2 +1,2 @@" },
    { kind: "same", text: "same" },
    { kind: "removed", text: "--a" },
    { kind: "added", text: "+b" },
    { kind: "place", text: "No newline at end of file" },
  ])
  assert.deepEqual(countsOf(lines), { added: 1, removed: 1 })
  assert.deepEqual(diffLines(""), [])
})
