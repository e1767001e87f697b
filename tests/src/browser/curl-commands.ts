/** Executes what "Copy as curl" copies: a shell reads the words, as it would for curl, and the request is sent. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { Page } from "playwright-core"

const run = promisify(execFile)

/** Presses the page's button. @returns  the commands that it copied, a line each */
export async function copiedCommands(page: Page): Promise<string[]> {
  await page.getByRole("button", { name: "Copy as curl" }).click()
  await page.getByRole("button", { name: "Copied" }).waitFor()
  return (await page.evaluate<string>("navigator.clipboard.readText()")).split("\n")
}

/** @param key  the value of the shell's variable KEY. @returns the reply, whose status was a success; events as their text */
export async function executed(command: string, key: string): Promise<unknown> {
  const script = `curl() { printf '%s\\0' "$@"; }; ${command}`
  const { stdout } = await run("sh", ["-c", script], { env: { KEY: key } })
  const words = stdout.split("\0").slice(0, -1)
  const after = (option: string) => words.flatMap((word, index) => (word === option ? [words[index + 1] ?? ""] : []))
  const url = words.find((word) => word.startsWith("http"))
  assert.ok(url, command)
  const headers = after("-H").map((header) => header.split(": ", 2) as [string, string])
  const [body = null] = after("-d")
  const [method = body === null ? "GET" : "POST"] = after("-X")
  const reply = await fetch(url, { method, headers, body })
  const text = await reply.text()
  assert.ok(reply.ok, `${command}: ${reply.status} ${text}`)
  if (reply.headers.get("content-type")?.startsWith("text/event-stream")) return text
  return text === "" ? undefined : JSON.parse(text)
}

/** What the commands of a page answer that needs no key. */
export const copiedResults = async (page: Page): Promise<unknown[]> =>
  Promise.all((await copiedCommands(page)).map((command) => executed(command, "")))
