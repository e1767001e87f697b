/** Serves the documentation, which `npm run docs` builds from docs/ (docs/decisions/0068-the-documentation-site.md). It needs no key. */
import { sendForEver, sendIfChanged, staticFiles } from "@superstep/toolkit/http/static-files"
import { headersOfPage } from "@superstep/toolkit/http/static-site"
import type { Context, Hono } from "hono"

/** Where the reference of the API is; below `/api-host` it is at `/docs`, as in the original (control-plane §1.1). */
export const referencePath = "/docs/api"

// The generator colours code by style attributes, which execute nothing.
const pageHeaders = headersOfPage({ styleAttributes: "'unsafe-inline'" })

const prefix = "/docs/"

/**
 * Adds `/docs` at the root; call it before the API's routes, which have `/docs`, too.
 * @param folder  the built site; it may be missing
 */
export function addDocs(app: Hono, folder: string): void {
  const find = staticFiles(folder)
  // The site's own addresses are relative to a slash at the end.
  app.get("/docs", (c) => c.redirect(prefix))
  app.get(`${prefix}*`, async (c, next) => {
    if (c.req.path === referencePath) return await next()
    const name = c.req.path.slice(prefix.length)
    const file = name.endsWith(".html") ? undefined : await find(name)
    if (file) return name.startsWith("assets/") ? sendForEver(c, file) : await sendIfChanged(c, file)
    const page = await find(name === "" ? "index.html" : `${name}.html`)
    if (page) return await sendIfChanged(c, page, { headers: pageHeaders })
    const none = await find("404.html")
    return none ? await sendIfChanged(c, none, { status: 404, headers: pageHeaders }) : notBuilt(c)
  })
}

const notBuilt = (c: Context): Response =>
  c.html(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Documentation</title>
<h1>The documentation is not built</h1>
<p>Run <code>npm run docs</code> in the repository of Superstep, then reload this page.</p>
<p>Its pages are Markdown files in the folder <code>docs</code> there.</p>
<p>The reference of the API is at <a href="${referencePath}">${referencePath}</a>.</p></html>`,
    404,
    pageHeaders,
  )
