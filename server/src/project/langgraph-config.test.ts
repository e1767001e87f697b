import assert from "node:assert/strict"
import { symlink } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { nameableEnv, readProject, toWorkerProject } from "./langgraph-config.js"
import { folderWith } from "./testing/folder.js"

async function read(config: unknown, { serverEnv = {}, files = {}, isDeployed = false } = {}) {
  await using folder = await folderWith({ "langgraph.json": JSON.stringify(config), ...files })
  return await readProject(join(folder.path, "langgraph.json"), serverEnv, { isDeployed })
}

const chat = { chat: "./src/chat.ts:graph" }

test("a project's graphs and their descriptions are read", async () => {
  const graphs = { ...chat, agent: { path: "./src/agent.ts:make", description: "Answers." } }

  const project = await read({ graphs, node_version: 20, dependencies: ["."], http: { disable_mcp: true } })

  assert.deepEqual(toWorkerProject(project).graphs, { chat: "./src/chat.ts:graph", agent: "./src/agent.ts:make" })
  assert.deepEqual(project.graphs.agent, { path: "./src/agent.ts:make", description: "Answers." })
  assert.deepEqual([project.nodeVersion, project.dependencies, project.http], ["20", ["."], { disable_mcp: true }])
  assert.deepEqual(project.warnings, [])
})

test("all problems are reported at once, each with its path", async () => {
  const wrong = { graphs: { chat: "./src/chat.ts", agent: 3 }, node_version: "new", http: { disable_mcp: "yes" } }

  const error = await read(wrong).catch((thrown: unknown) => thrown)

  assert.ok(error instanceof InvalidInput)
  const paths = error.problems.map(({ path }) => path.join("."))
  const places = ["graphs.chat", "graphs.agent", "node_version", "http.disable_mcp"]
  const expected = places.map((place) => `langgraph.json.${place}`)
  assert.deepEqual(paths, expected)
  await assert.rejects(read({}), /graphs/)
  const gate = { auth: { path: "./src/auth.ts:auth" }, http: { app: "./src/app.py:app" } }
  await assert.rejects(read({ graphs: chat, ...gate }), /the language of auth\.path/)
  await assert.rejects(read({ graphs: {} }), /at least one graph/)
  await assert.rejects(read({ graphs: { "": "./src/chat.ts:graph" } }), /a graph has an empty id/)
  await assert.rejects(read(JSON.parse('{"graphs":{"__proto__":"./src/chat.ts:graph"}}')), /the id "__proto__"/)
  const origins = { http: { cors: { allow_origins: ["\0"] } } }
  await assert.rejects(read({ graphs: chat, ...origins }), /allow_origins\.0: expected text without/)
})

test("an error about a missing or malformed file names the file", async () => {
  const marked = `\ufeff${JSON.stringify({ graphs: { chat: "./src/chat.ts:graph" } })}`
  await using folder = await folderWith({ "bad.json": "{", "marked.json": marked })

  await assert.rejects(readProject(join(folder.path, "none.json"), {}), /no such file: .*none\.json/)
  await assert.rejects(readProject(join(folder.path, "bad.json"), {}), /bad\.json is not valid JSON/)
  assert.deepEqual(Object.keys((await readProject(join(folder.path, "marked.json"), {})).graphs), ["chat"])
})

test("a warning about an unknown key suggests the nearest known key, at any depth", async () => {
  const project = await read({
    graphs: { agent: { path: "./src/agent.ts:make", descripton: "x" } },
    grahps: {},
    zebra: 1,
    http: { cors: { allow_orgins: [] }, disabled_mcp: true },
    store: { idx: {} },
  })

  assert.deepEqual(project.warnings, [
    "graphs.agent.descripton: this key is unknown and ignored: did you mean description?",
    "http.cors.allow_orgins: this key is unknown and ignored: did you mean allow_origins?",
    "http.disabled_mcp: this key is unknown and ignored: did you mean disable_mcp?",
    "store.idx: this key is unknown and ignored",
    "grahps: this key is unknown and ignored: did you mean graphs?",
    "zebra: this key is unknown and ignored",
  ])
})

test("a field without effect gives one warning with the reason", async () => {
  const project = await read({ graphs: chat, base_image: "x", encryption: { path: "./e.ts:e" } })

  const fields = project.warnings.map((warning) => warning.split(":")[0])
  assert.deepEqual(fields, ["encryption", "base_image"])
  assert.match(project.warnings[1] ?? "", /no container image is built/)
})

test("the environment is read from values, from a file or by name", async () => {
  const file = 'A=1\n# note\nexport B="two words # kept"\nC=\'$A\'\nMULTI="x\ny"\n'

  const values = await read({ graphs: chat, env: { N: 1, T: true } })
  const ofFile = await read({ graphs: chat, env: ".env" }, { files: { ".env": file } })
  const missing = await read({ graphs: chat, env: "./none.env" })
  const sent = await read({ graphs: chat, env: "./none.env" }, { isDeployed: true })
  const named = await read({ graphs: chat, env: ["KEY", "GONE"] }, { serverEnv: { KEY: "k", SECRET: "s" } })

  assert.deepEqual(values.env, { N: "1", T: "true" })
  assert.deepEqual(ofFile.env, { A: "1", B: "two words # kept", C: "$A", MULTI: "x\ny" })
  assert.deepEqual(missing.env, {})
  assert.deepEqual(missing.warnings, ["env: no such file: ./none.env; the graphs start without it"])
  assert.deepEqual([sent.env, sent.warnings], [{}, []])
  assert.deepEqual([named.env, named.warnings], [{ KEY: "k" }, ["env: the variable GONE is not set"]])
})

test("a list of names cannot read the server's own settings", async () => {
  const own = { DATABASE_URI: "postgres://server", SUPERSTEP_UNIT_TOKEN: "t", PGPASSWORD: "p" }
  const serverEnv = { ...own, KEY: "k" }

  const project = await read({ graphs: chat, env: [...Object.keys(own), "KEY"] }, { serverEnv })
  const unit = nameableEnv({ revisionId: "r1", agentEnv: { KEY: "of the platform" } }, serverEnv)
  const alone = nameableEnv({ revisionId: undefined, agentEnv: {} }, serverEnv)

  assert.deepEqual(project.env, { KEY: "k" })
  assert.equal(project.warnings.filter((warning) => warning.includes("belongs to the server")).length, 3)
  assert.deepEqual([unit, alone], [{ KEY: "of the platform" }, serverEnv])
})

test("a .env file outside the project's folder is rejected, however it is named", async () => {
  await using folder = await folderWith({ "agent/langgraph.json": "{}", "agent/deep/.env": "A=1", "other.env": "B=2" })
  await symlink(join(folder.path, "other.env"), join(folder.path, "agent/link.env"))
  const configPath = join(folder.path, "agent/langgraph.json")
  const readWith = async (env: string) => {
    await folder.write("agent/langgraph.json", JSON.stringify({ graphs: chat, env }))
    return readProject(configPath, {})
  }

  for (const env of ["/etc/hosts", "../other.env", join(folder.path, "other.env"), "link.env", "."]) {
    await assert.rejects(readWith(env), (error) => error instanceof InvalidInput && error.message.includes(env), env)
  }
  assert.deepEqual((await readWith("./deep/.env")).env, { A: "1" })
  assert.deepEqual((await readWith(join(folder.path, "agent/deep/.env"))).env, { A: "1" })
})
