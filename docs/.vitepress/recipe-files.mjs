/** On the site the page of a recipe ends with the recipe's files, since a reader of the site has no repository to copy them from. */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join, posix } from "node:path"
import { fileURLToPath } from "node:url"

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
  // What git ignores, such as an .env with a key, is not of the recipe.
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: folder, encoding: "utf8" })
    .split("\0")
    .filter((file) => file !== "" && file !== "README.md" && existsSync(join(folder, file)))
    .sort()
  const parts = files.map((file) => {
    const language = languages[file.split(".").at(-1)] ?? "txt"
    return `### ${file}\n\n~~~~${language}\n${readFileSync(join(folder, file), "utf8").trimEnd()}\n~~~~\n`
  })
  return `\n\n## The files\n\n${parts.join("\n")}`
}
