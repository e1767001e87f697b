/** The site of docs/: pages and their order come from docs/README.md, links into the repository are shown as paths. */
import { createHash } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitepress"
import { recipeFiles } from "./recipe-files.mjs"
import { repositoryPaths } from "./repository-paths.mjs"
import { decisionsGroup, groupsOfPages } from "./sidebar.mjs"

const out = fileURLToPath(new URL("../site.new", import.meta.url))

// The site contains modules of these packages, and their licences go along (scripts/docs.mjs).
const listModules = {
  name: "list-modules",
  generateBundle(_, bundle) {
    const paths = Object.values(bundle).flatMap(({ modules }) => Object.keys(modules ?? {}))
    const ofPackages = paths.filter((path) => path.includes("/node_modules/") && !path.startsWith("\0"))
    const names = new Set(ofPackages.map((path) => path.slice(path.indexOf("docs/node_modules/")).replace(/\?.*$/, "")))
    for (const name of names) modulesOfSite.add(name)
  },
}
const modulesOfSite = new Set()

export default defineConfig({
  title: "Superstep",
  description: "Hosts LangGraph agents on your own machines.",
  lang: "en",
  base: "/docs/",
  outDir: out,
  cacheDir: "node_modules/.vitepress",
  srcExclude: ["site", "site.new", "site.former"],
  rewrites: { "README.md": "index.md" },
  cleanUrls: true,
  // In a file of its own, not in a script of each page.
  metaChunk: true,
  // Otherwise the page gets a style sheet while its colours change, which the content security policy refuses.
  appearance: { disableTransition: false },
  themeConfig: {
    nav: [
      // Both belong to the control plane, not to this site.
      { text: "API", link: "/api", target: "_self" },
      { component: "ConsoleLink" },
    ],
    sidebar: { "/decisions/": [decisionsGroup()], "/": groupsOfPages() },
    outline: { level: [2, 3] },
    search: {
      provider: "local",
      // Decisions explain the code to its authors.
      options: { _render: (text, env, md) => (env.relativePath.startsWith("decisions/") ? "" : md.render(text, env)) },
    },
    footer: { message: "Apache-2.0. Not affiliated with LangChain." },
  },
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    // As GitHub makes anchors, so that a link works in both.
    anchor: { slugify: githubSlug },
    // Pages are Markdown as GitHub shows it: without HTML, and without what Vue and VitePress read into braces.
    html: false,
    attrs: { disable: true },
    config: (md) => {
      for (const kind of ["text", "code_inline"]) {
        const render = md.renderer.rules[kind]
        md.renderer.rules[kind] = (...token) => render(...token).replaceAll("{{", "&#123;&#123;")
      }
      md.use(repositoryPaths)
      md.use(recipeFiles)
    },
  },
  // A reader follows few of a page's links.
  router: { prefetchLinks: false },
  vite: { plugins: [listModules] },
  buildEnd: () => writeFileSync(join(out, "modules.json"), JSON.stringify({ modules: [...modulesOfSite].sort() })),
  transformHtml: (html) => withoutInlineScripts(html),
})

/** @param {string} heading */
function githubSlug(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-")
}

/** Scripts become files: the content security policy allows no script in a page. @param {string} html */
function withoutInlineScripts(html) {
  return html.replace(/<script([^>]*)>([^<]+)<\/script>/g, (_, attributes, text) => {
    const name = `assets/inline-${createHash("sha256").update(text).digest("hex").slice(0, 8)}.js`
    mkdirSync(join(out, "assets"), { recursive: true })
    writeFileSync(join(out, name), text)
    return `<script${attributes} src="/docs/${name}"></script>`
  })
}
