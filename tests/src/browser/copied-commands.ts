/** "Copy as curl": what a page copies, and what its commands give when a shell executes them. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { Page } from "playwright-core"

const execute = promisify(execFile)

/** Presses the button of a page. @returns one command for each request of the page */
export async function copiedCommands(page: Page): Promise<string[]> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
  await page.getByRole("button", { name: "Copy as curl" }).click()
  await page.getByRole("button", { name: "Copied" }).waitFor()
  const text = await page.evaluate<string>("navigator.clipboard.readText()")
  return text.split("\n")
}

/**
 * Has a shell read a command, and sends what it would have curl send: the machine need not have curl.
 * @returns the JSON of the reply
 */
export async function resultOf(command: string): Promise<unknown> {
  const { stdout } = await execute("sh", ["-c", `curl() { printf '%s\\0' "$@"; }; ${command}`])
  const { method, url, headers, body } = requestOf(stdout.split("\0").slice(0, -1))
  const reply = await fetch(url, { method, headers, ...(body !== undefined && { body }) })
  assert.equal(reply.status, 200, command)
  return reply.json()
}

function requestOf(words: readonly string[]) {
  const after = (option: string) => words.flatMap((word, n) => (word === option ? [words[n + 1] ?? ""] : []))
  const url = words.find((word) => /^https?:/.test(word)) ?? assert.fail(`no address in ${words.join(" ")}`)
  const headers = after("-H").map((line): [string, string] => {
    const colon = line.indexOf(":")
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  return { method: after("-X")[0] ?? "GET", url, headers, body: after("-d")[0] }
}
