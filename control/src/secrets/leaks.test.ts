/**
 * All places where a secret's value could leak while a deployment is built and runs: arguments of processes, the environment
 * of builds, logs, rows, files. Everything of the platform is searched, during and after.
 */

import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join, relative } from "node:path"
import { test } from "node:test"
import { identifier, sql } from "@superstep/toolkit/db/sql"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { smallProject } from "../pipeline/testing/platform.js"
import { platformWithRepository } from "../pipeline/testing/platform-with-repository.js"
import { shared } from "../testing/api.js"

const value = `sk-${randomBytes(24).toString("hex")}`
const forms = [value, Buffer.from(value).toString("base64").replace(/=+$/, "")]
const isIn = (text: string) => forms.some((form) => text.includes(form))

const platform = shared(() => platformWithRepository())

const skip = process.platform !== "linux" && "arguments of processes are read from /proc"
test("secrets are in no argument, build environment, log, row or file", {
  skip: skip || unlessWide("builds and serves a deployment"),
}, async () => {
  platform.repository.commit({
    ...smallProject,
    "package.json": JSON.stringify({
      name: "curious",
      private: true,
      type: "module",
      scripts: { build: "node show.mjs" },
    }),
    // The build prints its whole environment; the graph prints its key when it is loaded, as careless code does.
    "show.mjs": "console.log('built with', JSON.stringify(process.env))\n",
    "chat.mjs": `console.log("loaded with", process.env.MODEL_KEY)\n${smallProject["chat.mjs"]}`,
  })
  const seen = new Set<string>()
  const watch = setInterval(() => lookAtArguments(seen), 20)
  const { deploymentId } = await platform.serveRepository({ secrets: { MODEL_KEY: value } })
  clearInterval(watch)

  const rows = await rowsOf()
  const lines = (await platform.db.rows<{ message: string }>(sql`select message from log_lines`)).map(
    (it) => it.message,
  )
  const files = filesBelow(platform.home)

  assert.ok([...seen].some((command) => command.includes("programs/build.js")))
  assert.deepEqual([...seen].filter(isIn), [])
  assert.ok(lines.some((line) => line.includes("built with")))
  assert.ok(lines.some((line) => line.includes("loaded with") && !line.includes("undefined")))
  assert.deepEqual(
    Object.entries(rows).flatMap(([table, text]) => (isIn(text) ? [table] : [])),
    [],
  )
  assert.ok(files.some((path) => path.includes("artifacts")))
  assert.deepEqual(files.filter((path) => isIn(readFileSync(path, "latin1"))).map(shortened), [])
  const reply = await platform.call("GET", `/v2/deployments/${deploymentId}`)
  assert.ok(!isIn(JSON.stringify(reply)))
})

/**
 * Adds the arguments of every process of this machine: the platform's are among them. A process is read at each look, since
 * it has its parent's arguments until it executes its own program.
 */
function lookAtArguments(seen: Set<string>): void {
  for (const pid of readdirSync("/proc")) {
    if (/^\d+$/.test(pid)) seen.add(readIfThere(`/proc/${pid}/cmdline`))
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "latin1")
  } catch {
    // The process has ended since it was listed.
    return ""
  }
}

async function rowsOf(): Promise<Record<string, string>> {
  const tables = await platform.db.rows<{ name: string }>(sql`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`)
  const texts = tables.map(async ({ name }) => {
    const row = await platform.db.row<{ text: string }>(sql`
      select coalesce(string_agg(t::text, ${"\n"}), '') as text from ${identifier(name)} t`)
    return [name, row?.text ?? ""] as const
  })
  return Object.fromEntries(await Promise.all(texts))
}

/**
 * All files but those of the unit itself: its settings file, which a real agent server removes before the first line of user
 * code (machines/src/process/README.md), and the output of its own code, which is hidden where others may read it.
 */
const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .filter((path) => !/units\/[^/]+\/(tmp\/settings\.json|out\.log(\.1)?)$/.test(path))

const shortened = (path: string): string => relative(platform.home, path)
