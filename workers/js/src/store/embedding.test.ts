/** Values of `store.embed`, in a separate project folder. */
import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { enableProjectModules } from "../loading/project-modules.js"
import { embedTexts } from "./embedding.js"

const project = mkdtempSync(join(tmpdir(), "embedding-"))
after(() => rmSync(project, { recursive: true }))
writeFileSync(
  join(project, "embed.ts"),
  `export const lengths = (texts: string[]) => texts.map((text) => [text.length])
export const embeddings = { embedDocuments: async (texts: string[]) => texts.map(() => [1]) }
export const number = 1`,
)
// A package as installed in a project, with only the requested class.
const installed = join(project, "node_modules/@langchain/ollama")
mkdirSync(installed, { recursive: true })
writeFileSync(join(installed, "package.json"), `{"name":"@langchain/ollama","type":"module","exports":"./index.js"}`)
writeFileSync(
  join(installed, "index.js"),
  `export class OllamaEmbeddings {
  constructor({ model }) { this.model = model }
  async embedDocuments(texts) { return texts.map((text) => [this.model, text]) }
}`,
)
enableProjectModules()

const embed = (spec: string, texts: string[] = ["ab", "c"]) =>
  embedTexts(project, { type: "call", call_id: "1", method: "store.embed", embed: spec, payload: ["texts"] }, [
    Buffer.from(JSON.stringify(texts)),
  ])

test("an embedding is a function or an Embeddings of a file, or a class of an installed package", async () => {
  assert.deepEqual(await embed("./embed.ts:lengths"), [[2], [1]])
  assert.deepEqual(await embed("embed.ts:embeddings"), [[1], [1]])
  assert.deepEqual(await embed("ollama:nomic:v1", ["x"]), [["nomic:v1", "x"]])
})

test("an invalid embedding is an error that says what to do", async () => {
  await assert.rejects(embed("./embed.ts:number"), /is not an embedding: export a function/)
  await assert.rejects(embed("./embed.ts:absent"), /has no export "absent"/)
  await assert.rejects(embed("./none.ts:embed"), /no such file/)
  await assert.rejects(embed("openai:text-embedding-3-small"), /does not have @langchain\/openai: add it/)
  await assert.rejects(embed("nobody:model"), /unknown provider "nobody": use openai/)
})
