/**
 * Checks that imports run one way. The rules are a table: each checks one import and returns what is wrong with it.
 * TypeScript's compiler API is not needed: our formatter leaves import statements in one form.
 */
import { posix } from "node:path"
import { problemsOfKnots } from "./import-knots.mjs"

/** Which packages a package may import, besides itself. */
const mayImport = {
  protocol: [],
  toolkit: [],
  "workers/js": ["protocol"],
  server: ["toolkit", "protocol"],
  oci: ["toolkit"],
  edge: ["toolkit", "protocol"],
  builder: ["oci", "toolkit", "protocol"],
  machines: ["builder", "edge", "oci", "toolkit", "protocol"],
  control: ["machines", "builder", "edge", "oci", "toolkit", "protocol"],
  // It meets the servers only over HTTP.
  console: [],
  cli: ["server", "control", "machines", "builder", "toolkit", "protocol"],
  tests: ["cli", "server", "control", "machines", "builder", "edge", "oci", "toolkit", "protocol", "workers/js"],
  bench: ["server", "control", "edge", "toolkit", "protocol", "workers/js"],
}

const packageNames = {
  "@superstep/protocol": "protocol",
  "@superstep/toolkit": "toolkit",
  "@superstep/worker-js": "workers/js",
  "@superstep/server": "server",
  "@superstep/oci": "oci",
  "@superstep/edge": "edge",
  "@superstep/builder": "builder",
  "@superstep/machines": "machines",
  "@superstep/control": "control",
  "@superstep/console": "console",
  superstep: "cli",
}

/** In a package: main → app → routes → operations → queries → model. The first matching pattern names the layer. */
const layers = [
  ["main", /^(main|.+-main)\.ts$/],
  ["app", /^app\.ts$/],
  ["routes", /^(routes|.+-routes)\.ts$/],
  ["operations", /^(operations|.+-operations)\.ts$/],
  ["queries", /^(queries|claims|.+-queries)\.ts$/],
]
const order = ["main", "app", "routes", "operations", "queries", "model"]

/** Concepts with a model, the file that defines their types. */
const concepts = {
  assistants: ["assistant.ts"],
  threads: ["thread.ts"],
  runs: ["run.ts"],
  crons: ["cron.ts"],
  store: ["item.ts"],
  checkpoints: ["checkpoint.ts"],
  deployments: ["deployment.ts"],
  revisions: ["revision.ts"],
  integrations: ["integration.ts"],
  uploads: ["upload.ts"],
  workspaces: ["workspace.ts"],
  secrets: ["secret.ts"],
  logs: ["log-line.ts"],
  events: ["event.ts"],
  audit: ["audit-entry.ts"],
  webhooks: ["webhook.ts"],
  console: ["session.ts"],
  quotas: ["quota.ts"],
}

/** @returns  one of `order`, or undefined for a file outside the layers */
export function layerOf(path) {
  const file = posix.basename(path)
  const named = layers.find(([, pattern]) => pattern.test(file))
  if (named) return named[0]
  // The model of a concept has its singular name: runs/run.ts, deployments/deployment.ts.
  const folder = posix.basename(posix.dirname(path))
  return concepts[folder]?.includes(file) ? "model" : undefined
}

/** A model, the interface of a port, a table of error codes or of fields: only definitions for others to use. */
const fieldTables = /^control\/src\/revisions\/(field|source-config|source-revision-config)\.ts$/
/** What tables of fields are made of: formats, and checks of values. */
const formats = /^control\/src\/(http\/fields|revisions\/(resource-spec|repository|watch-paths))\.ts$/
const isPure = (path) =>
  layerOf(path) === "model" || ["port.ts", "error-codes.ts"].includes(posix.basename(path)) || fieldTables.test(path)
const layered = (path) => /^(server|control|machines|edge|builder)\/src\//.test(path)
const isTest = (path) => /\.test\.tsx?$|\/testing\/|^tests\/|^bench\//.test(path)

/** Each rule gets `{ from, to, toPackage, fromPackage }` and returns a message when the import breaks it. */
const importRules = [
  function packagesRunOneWay({ fromPackage, toPackage }) {
    if (fromPackage === toPackage || mayImport[fromPackage]?.includes(toPackage)) return undefined
    const allowed = mayImport[fromPackage]?.join(", ") || "no package of ours"
    return `${fromPackage} may import ${allowed}, and this imports ${toPackage}`
  },
  function layersRunOneWay({ from, to, fromPackage, toPackage }) {
    if (fromPackage !== toPackage || !layered(from)) return undefined
    const [upper, lower] = [layerOf(from), to && layerOf(to)]
    if (!upper || !lower || upper === "model" || order.indexOf(upper) <= order.indexOf(lower)) return undefined
    return `${upper} may not import ${lower}: imports run ${order.join(" → ")}`
  },
  function modelsStandAlone({ from, to, fromPackage, toPackage }) {
    if (fromPackage !== toPackage || !layered(from) || layerOf(from) !== "model" || isPure(to)) return undefined
    return "a model imports nothing of its package but models, ports, error codes and tables of fields: pass in what it needs"
  },
  function fieldTablesStandAlone({ from, to, fromPackage, toPackage }) {
    if (fromPackage !== toPackage || !fieldTables.test(from) || isPure(to) || formats.test(to)) return undefined
    return "a table of fields imports models, formats and checks of values: others read the table"
  },
  function plannerKnowsNoStage({ from, to }) {
    if (!from.startsWith("control/src/planner/") || !to?.startsWith("control/src/pipeline/")) return undefined
    return "stages use the planner, which knows none of them: move what both need below them"
  },
  function machinesAreBehindTheirPort({ from, to }) {
    if (!from.startsWith("control/src/")) return undefined
    const choosesMachine = /^control\/src\/(start|config)\.ts$/.test(from)
    const isOffered = choosesMachine ? /^(port|unit-client|kinds|remote)\// : /^(port|unit-client)\//
    const [, inMachines] = /^machines\/src\/(.+)/.exec(to ?? "") ?? []
    // Others know only why a build failed, and which commands one may have.
    const isBehind = !choosesMachine && /^(?:builder|oci)\/src\/(?!faults\/|error-codes|command-problem)/.test(to ?? "")
    if (!isBehind && (inMachines === undefined || isOffered.test(inMachines))) return undefined
    return "only start.ts chooses a machine, and config.ts reads its settings: use machines/src/port, and add to it what is missing"
  },
  function kindsAreComposedOfParts({ from, to }) {
    const [upper, lower] = [from, to ?? ""].map((path) => /^machines\/src\/([\w-]+)\//.exec(path)?.[1])
    if (upper === undefined || lower === undefined || upper === lower || upper === "kinds") return undefined
    const isBelow = lower === "port" || (lower === "parts" && upper !== "port" && upper !== "unit-client")
    if (isBelow) return undefined
    return "a kind of machine is composed of machines/src/parts, behind machines/src/port; only machines/src/kinds knows the kinds"
  },
  function nothingImportsMain({ to, fromPackage, toPackage }) {
    if (fromPackage !== toPackage || !layered(to ?? "") || layerOf(to) !== "main") return undefined
    return "main.ts is an entry point: move what is needed into a file of its own"
  },
]

/** Each rule is a pattern that may appear only in some files. */
const textRules = [
  {
    pattern: /\bprocess\.env\b/,
    only: /\/(config|main|[\w-]+-main)\.ts$/,
    within: /^(server|control|machines|edge|oci|builder|cli)\/src\//,
    say: "read the environment in config.ts and pass the value in",
  },
  {
    pattern: /\bsql`/,
    only: /\/((.+-)?queries|(.+-)?claims|wake-up)\.ts$/,
    within: /^(server|control|machines|edge|oci|builder|cli)\/src\//,
    say: "SQL belongs in this concept's queries.ts",
  },
  {
    pattern: /from "pg"/,
    only: /^toolkit\/src\/(db|postgres|testing)\//,
    within: /^(server|control|machines|edge|oci|builder|cli|toolkit)\/src\//,
    say: "talk to Postgres through @superstep/toolkit/db/database",
  },
  {
    pattern: /\bnew URL\([^()]*import\.meta\.url\)/,
    // The path to the package's other folders is the same from `dist/` and from `programs/`.
    only: /^(server|control|machines|edge|oci|builder|cli)\/src\/[\w-]+\.ts$|\/generate-files\.ts$/,
    within: /^(protocol|toolkit|server|control|machines|edge|oci|builder|cli)\/src\//,
    say: "programs are bundled, so relative paths to files change: use import.meta.resolve with a name in `exports`",
  },
  {
    // The names of deployment sources, such as external_docker, are part of the API; patterns for names of files (`\.docker`) concern no machine.
    pattern:
      /\bcgroups?\b|(?<!external_|internal_|\\\.)docker(?!ignore)|\buid\b(?!")|\bOsUser\b|\bsocketPath\b|\.sock\b/i,
    only: /^$/,
    within: /^control\/src\//,
    say: "this depends on the kind of machine: it belongs into machines/, behind machines/src/port",
  },
  {
    pattern: /\b(c\.json|jsonResponse)\(\s*\{\s*detail\b/,
    only: /\/http\/(errors|not-found)\.ts$/,
    within: /^(server|control|machines|edge|oci|builder|toolkit)\/src\//,
    say: "throw a KnownError: http/errors.ts alone renders errors (a recorded exception names its § on this line)",
    unless: /§|\.notFound\(/,
  },
]

/**
 * @param files  every source as `{ path, text }`, paths from the repository's root
 * @returns      problems as `{ path, line, message }`
 */
export function checkImports(files) {
  const isPython = ({ path }) => path.endsWith(".py")
  const sources = files.filter((file) => !isPython(file))
  const known = new Set(sources.map(({ path }) => path))
  const edges = sources.flatMap((file) => importsOf(file, known))
  return [
    ...edges.flatMap(problemsOfImport),
    ...sources.flatMap(problemsOfText),
    ...cycles(edges),
    ...problemsOfKnots([...edges, ...files.filter(isPython).flatMap(pythonImportsOf)]),
  ]
}

/** The relative imports of a Python file: each dot after the first one is a folder up. */
function pythonImportsOf({ path, text }) {
  const fromPackage = packageOf(path)
  return [...text.matchAll(/^ *from \.(\.*)([\w.]+) import/gm)].map(({ index, 1: up, 2: module }) => {
    const to = posix.join(posix.dirname(path), "../".repeat(up.length), `${module.replaceAll(".", "/")}.py`)
    const line = text.slice(0, index).split("\n").length
    return { from: path, to, fromPackage, toPackage: fromPackage, line }
  })
}

const statement = /(?:^|\n)\s*(?:import|export)\b(?:[^"'`;]*?\bfrom\s*)?\s*"([^"]+)"|\bimport\("([^"]+)"\)/g

/** The imports of our own files and packages; third-party packages are left out. */
function importsOf({ path, text }, known) {
  return [...text.matchAll(statement)].flatMap((match) => {
    const specifier = match[1] ?? match[2]
    const target = targetOf(path, specifier, known)
    if (!target) return []
    const line = text.slice(0, match.index + match[0].indexOf(specifier)).split("\n").length
    return [{ from: path, fromPackage: packageOf(path), line, ...target }]
  })
}

function targetOf(path, specifier, known) {
  if (specifier.startsWith(".")) {
    const to = sourceOf(posix.join(posix.dirname(path), specifier), known)
    return { to, toPackage: packageOf(to) }
  }
  const name = Object.keys(packageNames).find((one) => specifier === one || specifier.startsWith(`${one}/`))
  if (!name) return undefined
  const toPackage = packageNames[name]
  return { toPackage, to: sourceOf(`${toPackage}/src${specifier.slice(name.length)}.js`, known) }
}

function sourceOf(path, known) {
  const stem = path.replace(/\.jsx?$/, "")
  return [`${stem}.ts`, `${stem}.tsx`].find((candidate) => known.has(candidate)) ?? path
}

const packageOf = (path) => /^(workers\/\w+|[^/]+)\//.exec(path)?.[1] ?? ""

function problemsOfImport(edge) {
  if (isTest(edge.from)) return importRules.slice(0, 1).flatMap((rule) => sentence(rule, edge))
  return importRules.flatMap((rule) => sentence(rule, edge))
}

function sentence(rule, edge) {
  const message = rule(edge)
  return message ? [{ path: edge.from, line: edge.line, message }] : []
}

function problemsOfText({ path, text }) {
  if (isTest(path)) return []
  return textRules
    .filter(({ within, only }) => within.test(path) && !only.test(path))
    .flatMap(({ pattern, unless, say }) =>
      text.split("\n").flatMap((line, index) => {
        if (!pattern.test(line) || /^\s*(\*|\/\/|\/\*)/.test(line) || unless?.test(line)) return []
        return [{ path, line: index + 1, message: say }]
      }),
    )
}

/** Each cycle once, named by its alphabetically first file. */
function cycles(edges) {
  const next = new Map()
  for (const edge of edges) next.set(edge.from, [...(next.get(edge.from) ?? []), edge])
  const found = new Map()
  const done = new Set()
  const walk = (file, trail) => {
    const start = trail.findIndex((edge) => edge.from === file)
    if (start >= 0) return remember(found, trail.slice(start))
    if (done.has(file)) return undefined
    for (const edge of next.get(file) ?? []) if (edge.to && edge.to !== file) walk(edge.to, [...trail, edge])
    done.add(file)
  }
  for (const file of [...next.keys()].sort()) walk(file, [])
  return [...found.values()]
}

function remember(found, trail) {
  const files = trail.map(({ from }) => from)
  const first = files.indexOf([...files].sort()[0])
  const turned = [...trail.slice(first), ...trail.slice(0, first)]
  const message = `import cycle: ${[...turned.map(({ from }) => from), turned[0].from].join(" → ")}; move what both need below them`
  found.set(message, { path: turned[0].from, line: turned[0].line, message })
}
