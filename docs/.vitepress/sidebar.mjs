/** The navigation, from the headings and links of docs/README.md. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const docs = fileURLToPath(new URL("..", import.meta.url))
const read = (path) => readFileSync(docs + path, "utf8")
const linkOf = (file) => `/${file.replace(/\.md$/, "")}`

/** One group for each heading of the index. */
export function groupsOfPages() {
  const sections = read("README.md").split(/^## /m).slice(1)
  return sections.map((section) => ({
    text: section.split("\n", 1)[0],
    items: [...section.matchAll(/^- \[([^\]]+)\]\(([\w/.-]+\.md)\)/gm)].map(([, text, file]) => ({
      text,
      link: linkOf(file),
    })),
  }))
}

export const decisionsGroup = () => ({
  text: "Decisions",
  items: readdirSync(`${docs}decisions`)
    .sort()
    .map((name) => itemOf(`decisions/${name}`)),
})

const itemOf = (file) => ({ text: /^# (.+)$/m.exec(read(file))?.[1] ?? file, link: linkOf(file) })
