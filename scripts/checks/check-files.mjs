/**
 * Rules for single files: their length, the names of migrations, no paths or hosts of one machine, SQL that old servers know, and
 * existing targets of links and file names in the documentation.
 */
import { posix } from "node:path"

const maxLines = 400
const measured = /\.(ts|tsx|mjs|js|py|css|sql|sh)$/
// Within the first lines, in any comment form.
const reason = /Long on purpose: \S+/

/** @param files  `{ path, text }` @returns problems as `{ path, line, message }` */
export function checkFiles(files) {
  return [
    ...files.flatMap(tooLong),
    ...files.flatMap(foreignWords),
    ...files.flatMap(newNumbers),
    ...files.flatMap(changedValues),
    ...migrations(files),
    ...deadNames(files),
  ]
}

function tooLong({ path, text }) {
  const count = text.split("\n").length - 1
  if (count <= maxLines || !measured.test(path) || reason.test(text.slice(0, 1000))) return []
  const message = `${count} lines: split the file (or explain at its top: "Long on purpose: …")`
  return [{ path, line: maxLines, message }]
}

/** Package registries and the place of a clone are settings of each machine. */
const foreign = [
  {
    pattern: /\bregistry\.[a-z]\w*\.[a-z]{2,}\b|\bpypi\.org\b|\bpythonhosted\.org\b|\bnpmmirror\.com\b/,
    say: "is a package registry: registries are settings of each machine",
  },
  {
    pattern:
      /(?<![\w.$})~*:-])\/(?:work|root)\/[\w.]|(?<![\w.$})~*:-])\/(?:home|Users)\/(?!<|\$|you\b|me\b|node\b|operator\b)\w+\//,
    say: "is a path of one machine: use a path relative to the repository, or create a folder with mkdtemp",
  },
  { pattern: /^(?:<{7} |>{7} )/, say: "is left of a merge: choose one side" },
]

function foreignWords({ path, text }) {
  if (posix.basename(path).startsWith("check-files.")) return []
  return text.split("\n").flatMap((line, index) =>
    foreign.flatMap(({ pattern, say }) => {
      const match = pattern.exec(line)
      return match ? [{ path, line: index + 1, message: `"${match[0]}" ${say}` }] : []
    }),
  )
}

const template = /\bsql`((?:[^`\\]|\\.)*)`/g
const groupedNumber = /(?<![\w"'.])\d+_\d+/

/** Postgres knows numbers such as 86_400 from release 16, and we support 15. */
function newNumbers({ path, text }) {
  if (!/\.(sql|ts)$/.test(path)) return []
  const parts = path.endsWith(".sql") ? [{ 0: text, 1: text, index: 0 }] : [...text.matchAll(template)]
  return parts.flatMap(({ 0: whole, 1: statement, index }) => {
    const match = groupedNumber.exec(statement.replace(/\$\{[^}]*\}/g, (value) => " ".repeat(value.length)))
    if (!match) return []
    const before = text.slice(0, index + whole.indexOf(statement) + match.index)
    return [
      { path, line: before.split("\n").length, message: `"${match[0]}": write numbers in SQL without underscores` },
    ]
  })
}

// They read or print only what is ours: files of the project and of this server, its status, its hints and keys.
const ownJson =
  /^server\/src\/(main|config|ui\/bundles|auth\/user-cache|project\/.+|companion\/answers|assistants\/kept-schemas|assistants\/source-analysis|store\/embedder|serving\/status-stream|idempotency\/(once|queries)|servers\/peers|workers\/headers|(meta|serving|studio)\/routes)\.ts$/

/** `JSON.parse` and `JSON.stringify` change numbers of users (docs/decisions/0057-numbers-keep-their-text.md). */
function changedValues({ path, text }) {
  const isTest = /\.test\.ts$|\/testing\//.test(path)
  if (!path.startsWith("server/src/") || !path.endsWith(".ts") || isTest || ownJson.test(path)) return []
  return text.split("\n").flatMap((line, index) => {
    const [found] = /(?<!`)\b(?:JSON\.parse|JSON\.stringify|structuredClone|c\.json(?=\())(?!`)/.exec(line) ?? []
    const message = `${found} changes numbers of users: use parseJson, toJsonText or jsonResponse of toolkit/http/json`
    return found === undefined ? [] : [{ path, line: index + 1, message }]
  })
}

const migrationName = /^(\d{6})_[a-z][a-z0-9_]*\.sql$/

/** Numbers increase by one from 000001, so that two migrations with the same number are noticed before a release. */
function migrations(files) {
  const byFolder = new Map()
  for (const file of files.filter(({ path }) => /\/migrations\/[^/]+$/.test(path))) {
    const folder = posix.dirname(file.path)
    byFolder.set(folder, [...(byFolder.get(folder) ?? []), file])
  }
  return [...byFolder.values()].flatMap((list) => list.sort(byPath).flatMap(problemsOfMigration))
}

const byPath = (one, other) => (one.path < other.path ? -1 : 1)

function problemsOfMigration({ path, text }, index) {
  const name = posix.basename(path)
  const number = migrationName.exec(name)?.[1]
  const expected = String(index + 1).padStart(6, "0")
  if (!number)
    return [{ path, line: 1, message: "the name of a migration must have the form 000007_add_run_claims.sql" }]
  if (number !== expected)
    return [{ path, line: 1, message: `has the number ${number} and should have ${expected}: numbers increase by one` }]
  return text.startsWith("-- ")
    ? []
    : [{ path, line: 1, message: "a migration must start with its reason: -- why it is needed" }]
}

// `](../README.md#rules)`, but no address and no anchor on the same page.
const link = /\]\((?![a-z]+:|#)([^)#\s]+)/g
// `retry.ts`, `pipeline/retry.ts`; not `.ts` alone.
const sourceName = /`((?:[\w.@-]+\/)*\w[\w.@-]*\.(?:ts|tsx|mjs))`/g
// They describe the state at their time.
const history = /(^|\/)CHANGELOG\.md$|^docs\/decisions\//

/** Links must lead to a file or a folder of the repository; a mentioned source file must exist under the given path. */
function deadNames(files) {
  const paths = files.map(({ path }) => `/${path}`)
  const isThere = (path) =>
    paths.some((known) => known === `/${path}` || known.startsWith(`/${path.replace(/\/$/, "")}/`))
  const isNamed = (name) => paths.some((known) => known.endsWith(`/${name.replace(/^(\.\.?\/)+/, "")}`))
  return files
    .filter(({ path }) => path.endsWith(".md") && !history.test(path))
    .flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((words, index) => [
          ...[...words.matchAll(link)]
            .filter(([, target]) => !isThere(posix.join(posix.dirname(path), target)))
            .map(([, target]) => ({ path, line: index + 1, message: `links to ${target}, which does not exist` })),
          ...[...words.matchAll(sourceName)]
            .filter(([, name]) => !isNamed(name))
            .map(([, name]) => ({ path, line: index + 1, message: `refers to ${name}, which does not exist` })),
        ]),
    )
}
