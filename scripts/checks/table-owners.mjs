/**
 * Each table is written by one first-level folder of a package, which owns it; others call that folder's functions. The owner follows from
 * the statements in the sources. `node scripts/checks/table-owners.mjs` prints the owner of each table. Statements in migrations, and those whose table is a parameter
 * (a restore, a new master key), are not counted.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** Folders that also write a table of another one, and why. The list is exact, so it can only shrink. */
const alsoWritten = {
  control: {
    // A switch and its way back set the revision that serves, together with the roles.
    deployments: ["revisions"],
    // A role begins and ends with the counts of its units, in one transaction below the planner.
    units: ["revisions"],
    // The statement that deletes lines counts those that were not forwarded yet.
    log_forwarding: ["logs"],
  },
  server: {
    // A run and its thread change in one statement.
    threads: ["runs"],
  },
}
const source = /^(\w+)\/src\/(?!testing\/)([\w-]+)\/(?!(?:.*\/)?testing\/).*(?<!\.test)\.ts$/
const write =
  /\b(?:insert into|delete from|update(?= (?:only )?[a-z_]+(?: (?:as )?[a-z]+)?\s+set\b)) +(?:only )?([a-z_]+)\b/g

/** @returns  for each package the tables that it writes: package → table → folder → first place, as `{ path, line }` */
function writersIn(files) {
  const packages = new Map()
  for (const { path, text } of files) {
    const [, name, folder] = source.exec(path) ?? []
    if (!Object.hasOwn(alsoWritten, name)) continue
    for (const { index, 1: table } of text.matchAll(write)) {
      const tables = packages.get(name) ?? packages.set(name, new Map()).get(name)
      const writers = tables.get(table) ?? tables.set(table, new Map()).get(table)
      if (!writers.has(folder)) writers.set(folder, { path, line: text.slice(0, index).split("\n").length })
    }
  }
  return packages
}

/** @returns  problems as `{ path, line, message }`: one for each folder that writes a table of another one */
export function checkTables(files, allowed = alsoWritten) {
  return [...writersIn(files)].flatMap(([name, tables]) =>
    [...tables].flatMap(([table, writers]) => [
      ...written(table, writers, allowed[name]?.[table] ?? []),
      ...unwritten(table, writers, allowed[name]?.[table] ?? []),
    ]),
  )
}

function written(table, writers, others) {
  const left = [...writers.keys()].filter((folder) => !others.includes(folder))
  if (left.length < 2) return []
  return left.map((folder) => ({
    ...writers.get(folder),
    message: `${left.join(" and ")} write the table ${table}: one folder owns it, and the other calls its functions`,
  }))
}

const unwritten = (table, writers, others) =>
  others
    .filter((folder) => !writers.has(folder))
    .map((folder) => ({
      path: "scripts/checks/table-owners.mjs",
      line: 1,
      message: `${folder} writes ${table} no more: remove it from alsoWritten`,
    }))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL("..", import.meta.url))
  const paths = execFileSync("git", ["ls-files", "*.ts"], { cwd: root, encoding: "utf8" }).trim().split("\n")
  for (const [name, tables] of writersIn(
    paths.map((path) => ({ path, text: readFileSync(`${root}/${path}`, "utf8") })),
  ))
    for (const [table, writers] of [...tables].sort()) {
      const others = alsoWritten[name]?.[table] ?? []
      const owner = [...writers.keys()].filter((folder) => !others.includes(folder)).join(" ")
      const also = others.length > 0 ? ` (also written by ${others.join(", ")})` : ""
      process.stdout.write(`${name}/src/${owner} owns ${table}${also}\n`)
    }
}
