/** Every address that we print for people: in the output of commands, in docs, at git hosts, by the official CLIs. */
import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Deployment } from "../testing/deployments.js"
import type { Platform } from "../testing/installation.js"
import type { ConsoleBrowser } from "./console-page.js"

const root = new URL("../../../", import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), "utf8")

/** Programs call these: with a method, a body or a key that a browser does not send. */
const isForPrograms = (path: string): boolean => /^\/(v2|v1|d|api-host|runs)\//.test(path) || /[{}$<>…]/.test(path)

const addresses = /https?:\/\/(?:127\.0\.0\.1|localhost):(?:8900|2024)(\/[^\s"'`)\]|]*)?/g

/** The paths of the platform's and the development server's addresses in our pages for people. */
function pathsInDocs(): string[] {
  const files = readdirSync(fileURLToPath(new URL("docs", root)), { recursive: true, encoding: "utf8" })
  const pages = files.filter((name) => name.endsWith(".md") && !/^(decisions|node_modules)\//.test(name))
  const texts = ["README.md", ...pages.map((name) => `docs/${name}`)].map(read)
  return texts.flatMap((text) => [...text.matchAll(addresses)].map(([, path = "/"]) => path.replace(/[.,:#].*$/, "")))
}

/** What `superstep dev` prints below its own address. */
const pathsOfDev = (): string[] =>
  [...read("cli/src/commands/serve-project.ts").matchAll(/\$\{url\}(\/[a-z/]+)`/g)].map(([, path = ""]) => path)

/** @param dev  the address of an agent server of `superstep dev` */
export async function openPrintedAddresses(
  browser: ConsoleBrowser,
  platform: Platform,
  { id, latest_revision_id }: Pick<Deployment, "id" | "latest_revision_id">,
  dev: string,
): Promise<string[]> {
  const { url, tenant_id } = platform.credentials
  const printed = [...platform.output().matchAll(/https?:\/\/[^\s"'\\]+/g)].map(([address]) => address)
  const ofPlatform = printed.filter((address) => address.startsWith(url)).map((address) => address.slice(url.length))
  const ofDev = pathsOfDev()
  assert.ok(ofDev.includes("/studio"), "what superstep dev prints was not found in its source")
  const all = new Set([
    ...ofPlatform.filter((path) => !isForPrograms(path)).map((path) => url + path),
    ...pathsInDocs()
      .filter((path) => !isForPrograms(path))
      .map((path) => (path.startsWith("/studio") ? dev : url) + path),
    ...[...ofDev, "/studio/"].map((path) => dev + path),
    // "View status" of the official CLIs, the statuses of commits, `superstep open`.
    `${url}/o/${tenant_id}/host/deployments/${id}`,
    `${url}/deployments/${id}/revisions/${latest_revision_id}?workspace=${tenant_id}`,
    `${url}/deployments/${id}?workspace=${tenant_id}`,
    `${url}/deployments/${id}/agent`,
  ])
  for (const address of all) {
    const page = await browser.open(address)
    await page.getByRole("heading").or(page.locator("#app, pre")).first().waitFor()
    await page.locator(".loading").first().waitFor({ state: "detached" })
    const text = await page.locator("body").innerText()
    assert.doesNotMatch(text, /There is no such page|"code": ?"(not_found|unauthenticated)"/, address)
    assert.notEqual(text.trim(), "", address)
    await page.close()
  }
  return [...all]
}
