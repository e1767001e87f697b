/** The navigation, from the headings and links of docs/README.md. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const docs = fileURLToPath(new URL("..", import.meta.url))
const read = (path) => readFileSync(docs + path, "utf8")
const linkOf = (file) => `/${file.replace(/\.md$/, "")}`

/** One group for each heading of the index. Pages that it does not list come last, so that none is out of reach. */
export function groupsOfPages() {
  const sections = read("README.md").split(/^## /m).slice(1)
  const groups = sections.map((section) => ({
    text: section.split("\n", 1)[0],
    items: [...section.matchAll(/^- \[([^\]]+)\]\(([\w/.-]+\.md)\)/gm)].map(([, text, file]) => ({
      text,
      link: linkOf(file),
    })),
  }))
  const listed = new Set(groups.flatMap(({ items }) => items.map(({ link }) => link)))
  const others = pages().filter((file) => !listed.has(linkOf(file)))
  return others.length === 0 ? groups : [...groups, { text: "More", items: others.map(itemOf) }]
}

export const decisionsGroup = () => ({
  text: "Decisions",
  items: readdirSync(`${docs}decisions`)
    .sort()
    .map((name) => itemOf(`decisions/${name}`)),
})

const itemOf = (file) => ({ text: /^# (.+)$/m.exec(read(file))?.[1] ?? file, link: linkOf(file) })

function pages() {
  return readdirSync(docs, { recursive: true })
    .filter((file) => file.endsWith(".md") && file !== "README.md" && !/^(decisions|node_modules)\//.test(file))
    .sort()
}
