/**
 * `npm run docs`: builds the pages of docs/ into `docs/site`, which the control plane serves at /docs
 * (docs/decisions/0068-the-documentation-site.md). The generator is a package of its own in docs/, so that `npm start` and `npm test` do not
 * install it.
 */
import { createHash } from "node:crypto"
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { licencesOf, packageFolders } from "./releases/licences.mjs"
import { commandStep, explain, filesBelow, root, SetupFailed } from "./setup.mjs"

const docs = join(root, "docs")
const site = join(docs, "site")
// VitePress empties its folder first, and a control plane may be serving the former site.
const next = join(docs, "site.new")
const base = "/docs/"
// Only to resolve links: no request is made.
const siteOrigin = "http://site.invalid"

/**
 * Builds the site if a page, a picture or the generator has changed.
 * @throws SetupFailed  with all dead links
 */
export async function buildDocs() {
  const digest = digestOfSources()
  if (readJson(join(site, "digest.json"))?.digest === digest) return
  if (!isInstalled())
    await commandStep("installing VitePress", "npm", ["ci", "--ignore-scripts", "--loglevel=error"], {
      cwd: docs,
    })
  await commandStep(
    "building the documentation",
    process.execPath,
    ["node_modules/vitepress/bin/vitepress.js", "build"],
    { cwd: docs },
  )
  const problems = deadLinks(readPages(next))
  if (problems.length > 0) throw new SetupFailed(problems.join("\n"))
  // The generator writes which modules of others the site contains.
  const { modules } = readJson(join(next, "modules.json"))
  rmSync(join(next, "modules.json"))
  writeFileSync(join(next, "THIRD-PARTY-LICENSES"), licencesOf(modules))
  const files = ["digest.json", ...filesBelow(next).map((file) => relative(next, file))]
  writeFileSync(join(next, "digest.json"), JSON.stringify({ digest, packages: packageFolders(modules), files }))
  replaceSite(next, site)
}

/**
 * Puts a built site in the place of the former one. Assets of that one stay until the next replacement, since pages that are open load some of
 * them late, such as the search.
 * @param next  the folder of the built site, whose digest.json lists its files
 * @param site  the folder that is served
 */
export function replaceSite(next, site) {
  const assets = (readJson(join(site, "digest.json"))?.files ?? []).filter((file) => file.startsWith("assets/"))
  for (const file of assets) {
    if (!existsSync(join(next, file))) cpSync(join(site, file), join(next, file))
  }
  const former = `${site}.former`
  rmSync(former, { recursive: true, force: true })
  if (existsSync(site)) renameSync(site, former)
  renameSync(next, site)
  rmSync(former, { recursive: true, force: true })
}

/** @returns  the folders of the packages that the built site contains parts of */
export const packagesOfDocs = () => readJson(join(site, "digest.json")).packages

/** @returns  the paths below docs/site of the built site, without the assets of the one before */
export const filesOfDocs = () => readJson(join(site, "digest.json")).files

/**
 * VitePress checks that linked pages exist; this also checks their anchors, and that each page has content.
 * @param pages  HTML by path, such as `streaming.html`
 */
export function deadLinks(pages) {
  const anchors = new Map(
    [...pages].map(([path, html]) => [path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
  )
  return [...pages].flatMap(([path, html]) => {
    if (path !== "404.html" && !/<h1[ >]/.test(html)) return [`docs/${path}: the page is empty: it has no title`]
    return [...html.matchAll(/<a [^>]*href="([^"]*)"/g)].flatMap(([, href]) => {
      const { origin, pathname, hash } = new URL(href.replaceAll("&amp;", "&"), `${siteOrigin}${base}${path}`)
      if (origin !== siteOrigin || !pathname.startsWith(base)) return []
      const file = fileOf(pathname.slice(base.length))
      if (file === undefined) return []
      if (!anchors.has(file)) return [`docs/${path}: links to ${pathname}, which does not exist`]
      const isThere = hash === "" || anchors.get(file).has(decodeURIComponent(hash.slice(1)))
      return isThere ? [] : [`docs/${path}: links to ${pathname}${hash}, a heading that does not exist`]
    })
  })
}

/** The control plane itself serves /docs/api. */
function fileOf(target) {
  if (target === "api") return undefined
  if (target === "") return "index.html"
  return target.endsWith(".html") ? target : `${target}.html`
}

function readPages(folder) {
  const files = filesBelow(folder).filter((file) => file.endsWith(".html"))
  return new Map(files.map((file) => [relative(folder, file), readFileSync(file, "utf8")]))
}

function isInstalled() {
  const wanted = readJson(join(docs, "package-lock.json"))
  const installed = readJson(join(docs, "node_modules/.package-lock.json"))
  return Object.entries(wanted.packages).every(
    ([path, { version, optional }]) => path === "" || optional || installed?.packages[path]?.version === version,
  )
}

function digestOfSources() {
  const own = fileURLToPath(import.meta.url)
  const isSource = (file) => !/^(site|site\.new|site\.former|\.vitepress\/\.temp)\//.test(relative(docs, file))
  const hash = createHash("sha256")
  for (const file of [...filesBelow(docs).filter(isSource), own]) {
    hash.update(`${relative(root, file)}\0`).update(readFileSync(file))
  }
  return hash.digest("hex")
}

const readJson = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildDocs()
    .then(() => process.stdout.write(`the documentation is in docs/site; a control plane serves it at ${base}\n`))
    .catch(explain)
}
