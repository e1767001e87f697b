/** The API's reference as one page without scripts: the content of `/openapi.json` for people. Pure. */

type Schema = Readonly<Record<string, unknown>>

interface Operation {
  readonly summary?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly parameters?: readonly object[] | undefined
  readonly requestBody?: object | undefined
  readonly responses?: Readonly<Record<string, { readonly description?: string | undefined }>> | undefined
}

interface Document {
  readonly info: { readonly title: string; readonly description?: string | undefined }
  readonly paths?: Readonly<Record<string, object>> | undefined
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> | undefined } | undefined
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
code,pre{font:14px ui-monospace,monospace}pre{background:#8882;padding:.5rem;overflow:auto}
details{border-top:1px solid #8884;padding:.5rem 0}summary{cursor:pointer}
b{display:inline-block;min-width:4.5rem}ul{margin:.25rem 0;padding-left:2rem}li{list-style:none}h3{font-size:1rem;margin:.75rem 0 0}`

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }
const html = (text: string): string => text.replace(/[&<>"]/g, (character) => entities[character] ?? character)

const methods = ["get", "post", "put", "patch", "delete"] as const

interface Entry {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

function operationsOf(document: Document): Entry[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) => {
    const operations = item as Readonly<Record<string, Operation | undefined>>
    return methods.flatMap((method) => {
      const operation = operations[method]
      return operation ? [{ method, path, operation }] : []
    })
  })
}

/**
 * A page without external requests: it contains its style, and executes nothing.
 * @param documentAddress  of the document for programs, as the page's link has it
 */
export function referencePage(document: Document, documentAddress = "openapi.json"): string {
  const groups = new Map<string, Entry[]>()
  for (const entry of operationsOf(document)) {
    const tag = entry.operation.tags?.[0] ?? ""
    groups.set(tag, [...(groups.get(tag) ?? []), entry])
  }
  const sections = [...groups].map(
    ([tag, entries]) =>
      `<section><h2>${html(tag)}</h2>${entries.map((entry) => section(document, entry)).join("\n")}</section>`,
  )
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${html(document.info.title)}</title>
<style>${style}</style><h1>${html(document.info.title)}</h1><p>${html(document.info.description ?? "")}</p>
<p>For programs: <a href="${documentAddress}">openapi.json</a></p>${sections.join("\n")}</html>`
}

function section(document: Document, { method, path, operation }: Entry): string {
  const { summary = "", parameters = [], requestBody, responses = {} } = operation
  const { schema, example } = bodyOf(requestBody)
  const { properties = {}, required = [] } = resolved(document, schema) as {
    properties?: Readonly<Record<string, Schema>>
    required?: readonly string[]
  }
  const asked = (parameters as readonly { name: string; in: string; schema?: Schema }[]).map((parameter) =>
    item(parameter.name, `${parameter.in}, ${typeOf(document, parameter.schema)}`),
  )
  const fields = Object.entries(properties).map(([name, field]) =>
    item(name, `${typeOf(document, field)}${required.includes(name) ? ", required" : ""}`),
  )
  const replies = Object.entries(responses).map(([status, reply]) => item(status, reply.description ?? ""))
  return [
    `<details><summary><b>${method.toUpperCase()}</b><code>${html(path)}</code> ${html(summary)}</summary>`,
    list("Parameters", asked),
    list("Body", fields),
    example === undefined ? "" : `<pre>${html(JSON.stringify(example, null, 2))}</pre>`,
    `${list("Replies", replies)}</details>`,
  ].join("")
}

const item = (name: string, words: string): string => `<li><code>${html(name)}</code> ${html(words)}</li>`

const list = (title: string, items: readonly string[]): string =>
  items.length === 0 ? "" : `<h3>${title}</h3><ul>${items.join("")}</ul>`

function bodyOf(requestBody: object | undefined): { schema?: Schema; example?: unknown } {
  const { content } = (requestBody ?? {}) as { content?: Readonly<Record<string, { schema?: Schema }>> }
  return content?.["application/json"] ?? {}
}

function resolved(document: Document, schema: Schema | undefined): Schema {
  const name = typeof schema?.$ref === "string" ? schema.$ref.split("/").at(-1) : undefined
  return name === undefined ? (schema ?? {}) : ((document.components?.schemas?.[name] ?? {}) as Schema)
}

/** A short description of a value: its type, its choices, or its possible forms. */
function typeOf(document: Document, schema: Schema | undefined): string {
  const { type, enum: choices, anyOf, oneOf, items } = resolved(document, schema)
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(" or ")
  const forms = anyOf ?? oneOf
  if (Array.isArray(forms)) return [...new Set(forms.map((form) => typeOf(document, form as Schema)))].join(" or ")
  if (type === "array") return `list of ${typeOf(document, items as Schema)}`
  return Array.isArray(type) ? type.join(" or ") : String(type ?? "anything")
}
