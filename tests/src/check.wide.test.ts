/** `superstep check`: a project is loaded, and compared with the paused threads of a deployment, before it is deployed. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { clientOf, deploy } from "./testing/deployments.js"
import { startLocalPlatform } from "./testing/platform.js"
import { projectWith } from "./testing/projects.js"
import { ask, questionIn } from "./testing/question.js"
import { createRepository } from "./testing/repository.js"

const cli = fileURLToPath(import.meta.resolve("superstep/main"))
/** The test agent with these files. */
const agentWith = (files: Readonly<Record<string, string>>) => projectWith(files, "tests/agent")

const check = (folder: string, ...args: string[]) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const env = { PATH: process.env.PATH ?? "" }
    execFile(process.execPath, [cli, "check", folder, ...args], { env, cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

test("superstep check says which paused threads could not go on with a project, and that its graphs load", async () => {
  await using platform = await startLocalPlatform()
  const repository = await createRepository()
  await repository.push(questionIn("ask"))
  const deployment = await deploy(platform, "checked", repository.url)
  const threadId = await ask(clientOf(platform, deployment))
  const [same, renamed] = [agentWith(questionIn("ask")), agentWith(questionIn("confirm"))]
  const against = ["--against", "checked", "--home", platform.home]

  const [fine, orphaned, json, alone] = [
    await check(same, ...against),
    await check(renamed, ...against),
    await check(renamed, ...against, "--json"),
    await check(renamed),
  ]

  assert.equal(fine.code, 0, fine.stderr)
  assert.match(fine.stdout, /^✔ loaded: .*\n✔ 1 of 1 paused threads of checked can go on with these graphs\n$/)
  assert.equal(orphaned.code, 1)
  assert.match(
    orphaned.stderr,
    new RegExp(`1 of 1 paused threads of checked could not go on .*${threadId} \\(graph .* has no node ask`),
  )
  const { checked, orphaned: count, orphans, is_complete } = JSON.parse(json.stdout)
  assert.deepEqual([checked, count, is_complete, orphans[0].thread_id], [1, 1, true, threadId])
  assert.deepEqual([json.code, alone.code], [1, 0], alone.stderr)
})

test("a project that does not load is reported with the place of the error", async () => {
  const folder = agentWith({})
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs: { chat: "./broken.ts:graph" } }))
  writeFileSync(join(folder, "broken.ts"), "const a = 1\nexport const graph = {\n  channels: ,\n}\n")

  const { code, stderr } = await check(folder)

  assert.equal(code, 1)
  assert.match(stderr, /graph "chat" does not load: .*\n.*Unexpected ","/)
  assert.match(stderr, /broken\.ts:3:13/)
})

test("an error in a module that several graphs import is reported once", async () => {
  const folder = agentWith({ "broken.ts": "const a = 1\nexport const graph = {\n  channels: ,\n}\n" })
  const graphs = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`g${n}`, "./broken.ts:graph"]))
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs }))

  const { code, stderr } = await check(folder)

  assert.equal(code, 1)
  assert.match(stderr, /graphs "g0", "g1", "g2" and 17 more do not load: .*\n.*Unexpected ","/)
  assert.equal(stderr.split('Unexpected ","').length, 2, stderr)
  assert.equal(stderr.split("channels: ,").length, 2, stderr)
})

test("type errors of a project are reported with their places, also when its graphs load", async () => {
  const config = { compilerOptions: { strict: true, types: [], noEmit: true }, files: ["wrong.ts"] }
  const wrong = 'export const fine = 1\nexport const answer: number = "forty-two"\n'
  const files = { "tsconfig.json": JSON.stringify(config), "wrong.ts": wrong }
  const [without, failing, right] = [
    agentWith({}),
    agentWith(files),
    agentWith({ ...files, "wrong.ts": "export const answer: number = 42\n" }),
  ]

  const [unchecked, failed, json, fine] = [
    await check(without),
    await check(failing),
    await check(failing, "--json"),
    await check(right),
  ]

  assert.match(unchecked.stdout, /^✔ loaded: .*\n$/, unchecked.stderr)
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /the compiler found type errors:\n {2}wrong\.ts:2:14: error TS2322: /)
  const { graphs, type_errors } = JSON.parse(json.stdout)
  assert.equal(json.code, 1)
  assert.ok(graphs.length > 0)
  assert.match(type_errors.join(), /^wrong\.ts:2:14: error TS2322: /)
  assert.match(fine.stdout, /^✔ loaded: .*\n✔ no type errors\n$/, fine.stderr)
})
