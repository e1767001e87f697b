/** The API's reference as one page without scripts: what `/openapi.json` says, for people. Pure. */

interface Operation {
  readonly summary?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly responses?: Readonly<Record<string, { readonly description?: string | undefined }>> | undefined
}

interface Document {
  readonly info: { readonly title: string; readonly description?: string | undefined }
  readonly paths?: Readonly<Record<string, object>> | undefined
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
code{font:14px ui-monospace,monospace}section{border-top:1px solid #8884;padding:.5rem 0}
b{display:inline-block;min-width:4.5rem}ul{margin:.25rem 0;padding-left:6rem}li{list-style:none}`

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }
const html = (text: string): string => text.replace(/[&<>"]/g, (character) => entities[character] ?? character)

const methods = ["get", "post", "put", "patch", "delete"] as const

function operationsOf(document: Document): { method: string; path: string; operation: Operation }[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) => {
    const operations = item as Readonly<Record<string, Operation | undefined>>
    return methods.flatMap((method) => {
      const operation = operations[method]
      return operation ? [{ method, path, operation }] : []
    })
  })
}

export function referencePage(document: Document): string {
  const sections = operationsOf(document).map(({ method, path, operation }) => {
    const replies = Object.entries(operation.responses ?? {}).map(
      ([status, reply]) => `<li><code>${html(status)}</code> ${html(reply.description ?? "")}</li>`,
    )
    const title = `<b>${method.toUpperCase()}</b><code>${html(path)}</code>`
    return `<section><div>${title}</div><p>${html(operation.summary ?? "")}</p><ul>${replies.join("")}</ul></section>`
  })
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${html(document.info.title)}</title>
<style>${style}</style><h1>${html(document.info.title)}</h1><p>${html(document.info.description ?? "")}</p>
<p>For programs: <a href="openapi.json">openapi.json</a></p>${sections.join("\n")}</html>`
}
