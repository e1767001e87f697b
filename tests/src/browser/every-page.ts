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

function routes(): string[] {
  const [ofPlatform = "", ofAgent = ""] = source.split("const agentPages")
  const agentPages = pathsIn(ofAgent.split("const pagesBelow")[0] ?? "")
  const platformPages = pathsIn(ofPlatform)
  assert.ok(platformPages.length >= 9 && agentPages.length >= 9, "the pages were not found in app.tsx")
  return [...platformPages, ...agentPages.map((path) => `deployments/$deploymentId/agent/${path}`)]
}

/** Below the start of the console of the control plane. The sign-in page is not among them. */
export const everyPage = (ids: PageIds): string[] =>
  routes().map((path) => path.replace(/\$(\w+)/g, (_, name: keyof PageIds) => ids[name]))

/** A name of each of these pages, such as `agent-threads-threadId`. */
export const namesOfPages = (): string[] =>
  routes().map(
    (path) =>
      path
        .replace(/^deployments\/\$deploymentId\/?/, "deployment/")
        .replace("deployment/agent", "agent")
        .replaceAll("$", "")
        .replace(/\/$/, "")
        .replaceAll("/", "-") || "deployments",
  )
