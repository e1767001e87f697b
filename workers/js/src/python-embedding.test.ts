/** Values of `store.embed` in Python. */
import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { FakeServer } from "./testing/fake-server.js"
import { skip, startPythonWorker } from "./testing/python-worker.js"

const project = mkdtempSync(join(tmpdir(), "embedding-"))
writeFileSync(
  join(project, "embed.py"),
  `from langchain_core.embeddings import Embeddings

def lengths(texts): return [[len(text)] for text in texts]

async def later(texts): return lengths(texts)

class Ones(Embeddings):
    def embed_documents(self, texts): return [[1] for _ in texts]
    def embed_query(self, text): return [1]

ones = Ones()
number = 1
`,
)

let server: FakeServer
before(async () => {
  if (skip) return
  server = await startPythonWorker()
  await server.load(project, {})
})
after(async () => {
  if (!skip) await server[Symbol.asyncDispose]()
  rmSync(project, { recursive: true })
})

const embed = async (spec: string): Promise<unknown> => {
  const { lines } = await server.call({ method: "store.embed", embed: spec }, { texts: JSON.stringify(["ab", "c"]) })
  return JSON.parse(lines[0] ?? "")
}

test("a Python embedding is a function, with or without async, or an Embeddings", { skip }, async () => {
  assert.deepEqual(await embed("./embed.py:lengths"), [[2], [1]])
  assert.deepEqual(await embed("embed.py:later"), [[2], [1]])
  assert.deepEqual(await embed("./embed.py:ones"), [[1], [1]])
})

test("an invalid Python embedding is an error that says what to do", { skip }, async () => {
  await assert.rejects(embed("./embed.py:number"), /is not an embedding: export a function/)
  await assert.rejects(embed("./embed.py:absent"), /has no "absent"/)
  await assert.rejects(embed("./none.py:embed"), /no such file/)
  await assert.rejects(embed("nobody:model"), /nobody/)
})
