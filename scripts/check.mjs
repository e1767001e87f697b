/**
 * `npm run check`: all checks that do not run the product. One line per problem, with the place and what to do. Parts run
 * one after another, so that the first lines name the most basic problem.
 */
import { execFileSync, spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { checkFiles } from "./checks/check-files.mjs"
import { checkImports } from "./checks/check-imports.mjs"
import { checkPublished } from "./checks/check-published.mjs"
import { checkReturns } from "./checks/check-returns.mjs"
import { checkTime } from "./checks/check-time.mjs"
import { checkTables } from "./checks/table-owners.mjs"
import { checkVersions } from "./checks/versions.mjs"
import { budgetBytes, loadedFirst } from "./console.mjs"
import { checkPlanted } from "./faults/plant.mjs"
import { faults } from "./faults/planted-faults.mjs"
import { checkNotes } from "./releases/changes.mjs"
import { explain, root, setUp } from "./setup.mjs"

/** Each part resolves to its problems, as lines. */
const parts = {
  types: async () => {
    const { output } = await run(process.execPath, ["node_modules/typescript/bin/tsc", "--build", "--pretty", "false"])
    return typeProblems(output)
  },
  "style (biome)": async () => {
    const { code, output } = await run("node_modules/.bin/biome", [
      "check",
      "--reporter=github",
      "--max-diagnostics=none",
      ".",
    ])
    const problems = styleProblems(output)
    return code !== 0 && problems.length === 0 ? [output.trim()] : problems
  },
  imports: async () =>
    lines(
      checkImports(
        sources().filter(({ path }) => /\/src\/.*\.tsx?$|^workers\/python\/superstep_worker\/.*\.py$/.test(path)),
      ),
    ),
  files: async () =>
    lines([checkFiles, checkTime, checkReturns, checkNotes, checkVersions].flatMap((check) => check(sources()))),
  "owners of tables": async () => lines(checkTables(sources())),
  "what is published": async () => {
    const { published } = await import("../toolkit/dist/published.js")
    return lines(checkPublished(sources(), published))
  },
  "planted faults": async () => lines(checkPlanted(sources(), faults)),
  "size of the console": async () => sizeProblems(loadedFirst()),
}

async function check() {
  await setUp()
  let count = 0
  for (const [name, part] of Object.entries(parts)) {
    const problems = await part()
    count += problems.length
    process.stdout.write(`${problems.length === 0 ? "✔" : "✖"} ${name}\n`)
    for (const problem of problems) process.stdout.write(`  ${problem}\n`)
  }
  if (count > 0) process.exitCode = 1
  process.stdout.write(count === 0 ? "\nno problems\n" : `\n${count} ${count === 1 ? "problem" : "problems"}\n`)
}

/** `a.ts(3,5): error TS1: text` becomes `a.ts:3 text (TS1)`. */
function typeProblems(output) {
  return [...output.matchAll(/^(\S[^(\n]*)\((\d+),\d+\): error (TS\d+): (.+)$/gm)].map(
    ([, path, line, code, text]) => `${path}:${line} ${text} (${code})`,
  )
}

/** `::error title=lint/x,file=a.ts,line=3,…::text` becomes `a.ts:3 text (lint/x)`. */
function styleProblems(output) {
  return [...output.matchAll(/^::(?:error|warning)(?:\s+([^\n]*?))?::(.+)$/gm)].map(([, fields = "", text]) => {
    const field = (name) => new RegExp(`(?:^|,)${name}=([^,]*)`).exec(fields)?.[1]
    const rule = field("title") ?? "biome"
    const remedy = rule === "format" || rule.startsWith("assist/") ? ": npm run fix" : ""
    const path = field("file")?.replace(`${root}/`, "")
    return `${path}:${field("line") ?? 1} ${decodeURIComponent(text)}${remedy} (${rule})`
  })
}

/** @param files  what a browser loads before the first screen, each `{ name, bytes }` */
export function sizeProblems(files) {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  if (bytes <= budgetBytes) return []
  const kB = (count) => `${Math.round(count / 1000)} kB`
  const largest = files.toSorted((one, other) => other.bytes - one.bytes)[0]
  return [
    `console/src/app.tsx:1 browsers load ${kB(bytes)} before the first screen, and the budget is ${kB(budgetBytes)}: import large packages only in pages (the largest file is ${largest.name} with ${kB(largest.bytes)})`,
  ]
}

const lines = (problems) => problems.map(({ path, line, message }) => `${path}:${line} ${message}`)

/** Files that git tracks or would track, with their text; binaries, such as images that documents show, have none. */
function sources() {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], { cwd: root })
  return [...new Set(listed.toString().split("\0"))]
    .filter((path) => path !== "" && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))
    .map(({ path, text }) => ({ path, text: text.includes("\0") ? "" : text }))
}

function run(program, args) {
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
  const output = []
  child.stdout.on("data", (chunk) => output.push(chunk))
  child.stderr.on("data", (chunk) => output.push(chunk))
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, output: Buffer.concat(output).toString() }))
  })
}

if (process.argv[1]?.endsWith("check.mjs")) await check().catch(explain)
