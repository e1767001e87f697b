/** The first agent with a model: by `superstep dev`, and deployed, in both languages. It installs packages of the registries. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { promisify } from "node:util"
import { Client } from "@langchain/langgraph-sdk"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { interrupt, runCli, startCli, untilPrinted } from "superstep/testing/run-cli"
import { type OpenAi, startOpenAi } from "../testing/openai.js"
import { startLocalPlatform } from "../testing/platform.js"
import { copyOfRecipe, recipe } from "../testing/recipes.js"

const key = "sk-of-the-test"
const zone = "Europe/Lisbon"
const languages = [
  { language: "TypeScript", folder: recipe("first-agent/typescript"), install: ["npm", "install", "--no-audit"] },
  { language: "Python", folder: recipe("first-agent/python"), install: [] },
]

/** A copy, with `.env` as the page describes it. */
async function project(folder: string, openAi: OpenAi): Promise<string> {
  const copy = await copyOfRecipe(folder)
  const example = readFileSync(join(copy, ".env.example"), "utf8")
  const env = example
    .replace(/^OPENAI_API_KEY=$/m, `OPENAI_API_KEY=${key}`)
    .replace(/^# OPENAI_BASE_URL=.*$/m, `OPENAI_BASE_URL=${openAi.url}`)
    .replace(/^MODEL=.*$/m, "MODEL=a-model")
  writeFileSync(join(copy, ".env"), env)
  return copy
}

interface Piece {
  readonly type: string
  readonly content: string
}

/** Asks a question, and gives the pieces of messages as they are streamed. */
async function ask(client: Client): Promise<Piece[]> {
  const input = { messages: [{ role: "user", content: "What time is it in Lisbon?" }] }
  const pieces: Piece[] = []
  for await (const { event, data } of client.runs.stream(null, "agent", { input, streamMode: "messages-tuple" })) {
    assert.notEqual(event, "error", JSON.stringify(data))
    if (event === "messages") pieces.push((data as unknown as [Piece])[0])
  }
  return pieces
}

/** The tool was called, and its result came back word by word. */
function assertAnswer(pieces: readonly Piece[], { requests }: OpenAi): void {
  const result = pieces.find(({ type }) => type === "tool")?.content ?? ""
  // Python says AIMessageChunk, JavaScript ai.
  const words = pieces.filter(({ type, content }) => type.toLowerCase().startsWith("ai") && content !== "")
  assert.match(result, /\d:\d\d:\d\d/)
  assert.equal(words.map(({ content }) => content).join(""), `The tool says: ${result}`)
  assert.ok(words.length > 4, `${words.length} pieces`)
  const asked = requests.map(({ body }) => `${body.model} ${body.tools?.[0]?.function.name}`)
  assert.deepEqual(asked, ["a-model time_in", "a-model time_in"])
}

describe("the first agent with a model streams its answer", () => {
  for (const { language, folder, install } of languages) {
    const [program, ...args] = install
    test(`in ${language} by superstep dev, and deployed`, async (t) => {
      await using openAi = await startOpenAi({ key, call: { zone } })
      const cwd = await project(folder, openAi)
      if (program) await promisify(execFile)(program, args, { cwd })

      await t.test("by superstep dev", async () => {
        const port = await freePort()
        const dev = startCli(["dev", "--port", `${port}`], { cwd, env: { SUPERSTEP_WORKERS: "1" } })
        try {
          await untilPrinted(dev, "  Try ", 180_000)

          assertAnswer(await ask(new Client({ apiUrl: `http://127.0.0.1:${port}` })), openAi)
        } finally {
          await interrupt(dev)
        }
      })

      await t.test("deployed", async () => {
        await using platform = await startLocalPlatform()
        await using deployed = await startOpenAi({ key, call: { zone } })
        const env = readFileSync(join(cwd, ".env"), "utf8").replace(openAi.url, deployed.url)
        writeFileSync(join(cwd, ".env"), env)
        const { url, api_key } = platform.credentials

        const { code, stdout, stderr } = await runCli(["deploy", "--name", "first-agent"], {
          cwd,
          env: { SUPERSTEP_URL: url, SUPERSTEP_API_KEY: api_key },
        })

        assert.equal(code, 0, stderr)
        assertAnswer(await ask(new Client({ apiUrl: stdout.trim(), apiKey: api_key })), deployed)
      })
    })
  }
})
