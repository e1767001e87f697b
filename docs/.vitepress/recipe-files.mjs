/** On the site the page of a recipe ends with the recipe's files, since a reader of the site has no repository to copy them from. */
import { readdirSync, readFileSync } from "node:fs"
import { join, posix, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { isLeftBehind } from "../../scripts/left-behind.mjs"

const docs = fileURLToPath(new URL("..", import.meta.url))
const languages = {
  conf: "nginx",
  example: "sh",
  json: "json",
  py: "python",
  service: "ini",
  tf: "hcl",
  ts: "ts",
  yaml: "yaml",
  yml: "yaml",
}

export function recipeFiles(md) {
  md.core.ruler.before("normalize", "recipe_files", (state) => {
    const page = state.env.relativePath ?? ""
    if (/^recipes\/[^/]+\/README\.md$/.test(page)) state.src += filesAsMarkdown(posix.dirname(page))
  })
}

function filesAsMarkdown(recipe) {
  const folder = join(docs, recipe)
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => file !== "README.md" && !file.split("/").some(isLeftBehind))
    .sort()
  const parts = files.map((file) => {
    const language = languages[file.split(".").at(-1)] ?? "txt"
    return `### ${file}\n\n~~~~${language}\n${readFileSync(join(folder, file), "utf8").trimEnd()}\n~~~~\n`
  })
  return `\n\n## The files\n\n${parts.join("\n")}`
}
