import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { test } from "node:test"
import { promisify } from "node:util"
import { homeAt } from "../home/home.js"
import type { Output } from "../output/output.js"
import { showInstallation, showTryIt } from "./greeting.js"

const key = "ssk_of-the-first-start"
const credentials = { url: "http://127.0.0.1:8900", tenant_id: "w", api_key: key, org_api_key: "ssk_org" }
const installation = {
  credentials,
  home: homeAt(".superstep"),
  consoleUrl: "http://127.0.0.1:8900/sign-in",
  agentsUrl: "http://127.0.0.1:8901",
  ms: 1,
  release: "1.2.3",
}

function output(isTerminal: boolean): Output & { text(): string } {
  let text = ""
  const write = (more: string) => {
    text += more
  }
  const line = (more = "") => write(`${more}\n`)
  const beginLine = (start: string) => {
    write(start)
    return line
  }
  return { isTerminal, write, line, beginLine, style: (_, it) => it, text: () => text }
}

function greet(terminals: { readonly out: boolean; readonly err: boolean }) {
  const [out, err] = [output(terminals.out), output(terminals.err)]
  showInstallation(err, installation)
  showTryIt({ out, err }, { url: "http://127.0.0.1:8901/d/chat", graph: "chat", apiKey: key })
  return { out: out.text(), err: err.text() }
}

test("a terminal gets the key, also in the commands to paste", () => {
  const { out, err } = greet({ out: true, err: true })

  assert.ok(err.includes(key))
  assert.equal(out.split(key).length, 4)
})

test("the printed command shows our help, not that of npx", async () => {
  const [, command = ""] = /Commands +(.+)\n/.exec(greet({ out: true, err: true }).err) ?? []

  const { stdout } = await promisify(execFile)("sh", ["-c", command])

  assert.match(stdout, /^Usage: superstep /)
})

test("an output that is kept gets no key, also where the other one is a terminal", () => {
  const log = greet({ out: false, err: false })
  const outKept = greet({ out: false, err: true }).out
  const errKept = greet({ out: true, err: false }).err

  for (const text of [log.out, log.err, outKept, errKept]) assert.equal(text.includes("ssk_"), false)
  assert.match(log.err, /API key +api_key in credentials\.json: node -p/)
  assert.match(log.out, /-H 'x-api-key: <api_key in credentials\.json>'/)
})
