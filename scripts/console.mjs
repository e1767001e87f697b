/**
 * Builds the console into `console/site`: index.html and files with hashed names, for the servers to send as they are
 * (docs/decisions/0041-the-console.md). The pages are parts of their own; all style sheets of `console/src` become one.
 */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"
import { writeWhole } from "./write-whole.mjs"

// The scripts that prepare a clone import this one, so it imports none of them but the one that writes files.
const root = join(dirname(fileURLToPath(import.meta.url)), "..")
const source = join(root, "console/src")
const site = join(root, "console/site")
/** The console deploys it into an empty workspace. */
const example = join(root, "examples/chat")
const iconData = "node_modules/@iconify-json/lucide/icons.json"
const digestFile = join(site, "digest.json")
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"))

/** What a browser loads before the first screen may have this size, compressed. */
export const budgetBytes = 160 * 1000

/** @returns  whether the site is missing, or was built from other sources or packages than the present ones */
export function consoleIsStale() {
  if (!existsSync(source)) return false
  return !existsSync(digestFile) || readJson(digestFile).digest !== digestOfSources()
}

/** Builds the site, if it is stale. */
export async function buildConsole() {
  if (!consoleIsStale()) return
  // Computed before the build, so that files that change during the build make it stale.
  const digest = digestOfSources()
  const { files, entry, initial, modules } = await bundle()
  const style = [...files.keys()].find((name) => name.endsWith(".css"))
  const page = readFileSync(join(source, "index.html"), "utf8")
    .replace("{{style}}", `assets/${style}`)
    .replace("{{script}}", `assets/${entry}`)
  placeSite(site, { files, page, about: { digest, initial: [style, ...initial], modules } })
}

/**
 * Replaces a site while a server may send it. The page comes after its assets, and the assets of the build before this one stay: a browser
 * that has its page loads some of them only later.
 */
export function placeSite(folder, { files, page, about }) {
  const assets = join(folder, "assets")
  const record = join(folder, "digest.json")
  for (const [name, contents] of files) writeWhole(join(assets, name), contents)
  writeWhole(join(folder, "index.html"), page)
  // Builds of an earlier release recorded no names.
  const former = existsSync(record) ? (readJson(record).files ?? []) : []
  writeWhole(record, JSON.stringify({ ...about, files: [...files.keys()] }))
  const kept = new Set([...files.keys(), ...former])
  for (const name of readdirSync(assets)) if (!kept.has(name)) rmSync(join(assets, name))
}

/** @returns  the paths below `console/site` of the present build alone, for the published package */
export const filesOfSite = () => ["index.html", ...readJson(digestFile).files.map((name) => join("assets", name))]

/**
 * @returns  the files by name, the one that the page starts, all scripts that it loads before the first screen, and the paths of all
 *           modules of other packages, whose licences the published package must name
 */
async function bundle() {
  const { build } = await import("esbuild")
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { main: join(source, "main.tsx"), style: "all-styles" },
    outdir: "site",
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    target: ["es2023", "chrome123", "firefox121", "safari17.5"],
    jsx: "automatic",
    minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
    plugins: [allStyles, exampleFiles, iconShapes],
    metafile: true,
    write: false,
    logLevel: "warning",
  })
  const outputs = new Map(Object.entries(metafile.outputs).map(([file, output]) => [relative("site", file), output]))
  const entry = [...outputs].find(([, { entryPoint }]) => entryPoint === "console/src/main.tsx")[0]
  const isEmpty = (name) => name.startsWith("style-") && name.endsWith(".js")
  const files = outputFiles
    .map(({ path, contents }) => [relative(join(root, "site"), path), contents])
    .filter(([name]) => !isEmpty(name))
  const modules = Object.keys(metafile.inputs)
    .map((path) => (path.startsWith("lucide:") ? iconData : path))
    .filter((path) => path.includes("node_modules/"))
  return { files: new Map(files), entry, initial: loadedWith(entry, outputs), modules }
}

function loadedWith(name, outputs, found = new Set()) {
  if (found.has(name)) return []
  found.add(name)
  const imports = outputs.get(name).imports.filter(({ kind }) => kind === "import-statement")
  for (const { path } of imports) loadedWith(relative("site", path), outputs, found)
  return [...found]
}

/** One style sheet of all in `console/src`: the tokens first, then by path. */
const allStyles = {
  name: "all-styles",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^all-styles$/ }, ({ path }) => ({ path, namespace: "styles" }))
    onLoad({ filter: /.*/, namespace: "styles" }, () => ({
      contents: styleSheets()
        .map((file) => `@import ${JSON.stringify(file)};`)
        .join("\n"),
      loader: "css",
      resolveDir: source,
    }))
  },
}

/** The texts of the example's files by path, as a module: a page loads it only when it deploys the example. */
const exampleFiles = {
  name: "example-files",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^virtual:example-files$/ }, ({ path }) => ({ path, namespace: "example" }))
    onLoad({ filter: /.*/, namespace: "example" }, () => ({
      contents: JSON.stringify(
        Object.fromEntries(filesOfExample().map((file) => [relative(example, file), readFileSync(file, "utf8")])),
      ),
      loader: "json",
    }))
  },
}

/** `lucide:check` is the shape of the icon of that name. */
const iconShapes = {
  name: "icon-shapes",
  setup: ({ onResolve, onLoad }) => {
    const { icons } = readJson(join(root, iconData))
    onResolve({ filter: /^lucide:/ }, ({ path }) => ({ path: path.slice("lucide:".length), namespace: "lucide" }))
    onLoad({ filter: /.*/, namespace: "lucide" }, ({ path }) =>
      Object.hasOwn(icons, path)
        ? { contents: icons[path].body, loader: "text" }
        : { errors: [{ text: `Lucide has no icon ${path}` }] },
    )
  },
}

const isTheme = (file) => file.endsWith("/frame/theme.css")
const styleSheets = () => {
  const files = sourceFiles().filter((file) => file.endsWith(".css"))
  return [...files.filter(isTheme), ...files.filter((file) => !isTheme(file))]
}

/** @returns  what a browser loads before the first screen: each file with its compressed size */
export function loadedFirst() {
  const { initial } = readJson(digestFile)
  return initial.map((name) => ({ name, bytes: gzipSync(readFileSync(join(site, "assets", name))).length }))
}

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
}

const sourceFiles = () => filesBelow(source).filter((file) => !/\.test\.tsx?$/.test(file))

/** What git does not track stays out: packages, and what the example wrote when somebody ran it. */
const filesOfExample = () =>
  filesBelow(example).filter((file) => !/\/(node_modules|\.superstep|dist)\/|\/\.env$/.test(file))

function digestOfSources() {
  const own = [join(root, "package-lock.json"), fileURLToPath(import.meta.url)]
  const files = [...sourceFiles(), ...filesOfExample(), ...own]
  const hash = createHash("sha256")
  for (const file of files) hash.update(`${relative(root, file)}\0`).update(readFileSync(file))
  return hash.digest("hex")
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await buildConsole()
