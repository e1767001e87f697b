/** Values of `store.embed`, in a separate project folder. */
import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import type { FakeServer } from "../testing/fake-server.js"
import { languages } from "../testing/languages.js"

const project = mkdtempSync(join(tmpdir(), "embedding-"))
after(() => rmSync(project, { recursive: true }))
// A package as installed in a project, with only the requested class.
const installed = join(project, "node_modules/@langchain/ollama")
mkdirSync(installed, { recursive: true })
for (const [path, text] of Object.entries({
  "embed.ts": `export const lengths = (texts: string[]) => texts.map((text) => [text.length])
export const later = async (texts: string[]) => lengths(texts)
export const ones = { embedDocuments: async (texts: string[]) => texts.map(() => [1]) }
export const number = 1`,
  "embed.py": `from langchain_core.embeddings import Embeddings

def lengths(texts): return [[len(text)] for text in texts]

async def later(texts): return lengths(texts)

class Ones(Embeddings):
    def embed_documents(self, texts): return [[1] for _ in texts]
    def embed_query(self, text): return [1]

ones = Ones()
number = 1
`,
  "node_modules/@langchain/ollama/package.json": `{"name":"@langchain/ollama","type":"module","exports":"./index.js"}`,
  "node_modules/@langchain/ollama/index.js": `export class OllamaEmbeddings {
  constructor({ model }) { this.model = model }
  async embedDocuments(texts) { return texts.map((text) => [this.model, text]) }
}`,
}))
  writeFileSync(join(project, path), text)

for (const { name, skip, open } of languages)
  describe(`in ${name}`, { skip }, () => {
    const file = name === "Python" ? "embed.py" : "embed.ts"
    let server: FakeServer
    before(async () => {
      ;({ server } = await open())
      await server.load(project, {})
    })
    after(() => server?.[Symbol.asyncDispose]())

    const embed = async (spec: string): Promise<unknown> => {
      const texts = JSON.stringify(["ab", "c"])
      const { lines } = await server.call({ method: "store.embed", embed: spec }, { texts })
      return JSON.parse(lines[0] ?? "")
    }

    test("an embedding is a function, with or without async, an Embeddings, or a class of an installed package", async () => {
      assert.deepEqual(await embed(`./${file}:lengths`), [[2], [1]])
      assert.deepEqual(await embed(`${file}:later`), [[2], [1]])
      assert.deepEqual(await embed(`./${file}:ones`), [[1], [1]])
      const ofPackage = [
        ["nomic:v1", "ab"],
        ["nomic:v1", "c"],
      ]
      if (name === "JavaScript") assert.deepEqual(await embed("ollama:nomic:v1"), ofPackage)
    })

    test("an invalid embedding is an error that says what to do", async () => {
      await assert.rejects(embed(`./${file}:number`), /is not an embedding: export a function/)
      await assert.rejects(embed(`./${file}:absent`), /has no (export )?"absent"/)
      await assert.rejects(embed(`./none${file.slice(5)}:embed`), /no such file/)
      await assert.rejects(
        embed("nobody:model"),
        name === "Python" ? /nobody/ : /unknown provider "nobody": use openai/,
      )
      const missing = /does not have @langchain\/openai: add it/
      if (name === "JavaScript") await assert.rejects(embed("openai:text-embedding-3-small"), missing)
    })
  })
