/** The addresses of all pages of the console, from its own table of contents: a new page is in the tests that visit all. */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"

export interface PageIds {
  readonly deploymentId: string
  readonly revisionId: string
  readonly threadId: string
  readonly runId: string
}

const source = readFileSync(new URL("../../../console/src/app.tsx", import.meta.url), "utf8")

const pathsIn = (text: string): string[] =>
  [...text.matchAll(/"\/([^"]*)",\s*\(\) => import\(/g)].map(([, path = ""]) => path)

/** Below the start of the console of the control plane. The sign-in page is not among them. */
export function everyPage(ids: PageIds): string[] {
  const [ofPlatform = "", ofAgent = ""] = source.split("const agentPages")
  const agentPages = pathsIn(ofAgent.split("const pagesBelow")[0] ?? "")
  const platformPages = pathsIn(ofPlatform)
  assert.ok(platformPages.length >= 9 && agentPages.length >= 9, "the pages were not found in app.tsx")
  const all = [...platformPages, ...agentPages.map((path) => `deployments/$deploymentId/agent/${path}`)]
  return all.map((path) => path.replace(/\$(\w+)/g, (_, name: keyof PageIds) => ids[name]))
}
