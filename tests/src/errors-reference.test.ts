/**
 * docs/errors.md is printed from the entries that the types of errors use, so every code has an anchor and no anchor is without a code; real
 * replies prove that their status and address are those of the page.
 */
import assert from "node:assert/strict"
import { readdir, readFile } from "node:fs/promises"
import { test } from "node:test"
import { Client } from "@langchain/langgraph-sdk"
import { controlCodes } from "@superstep/control/error-codes"
import { revisionCodes } from "@superstep/control/revisions/error-codes"
import { exampleDeployment, startApi } from "@superstep/control/testing/api"
import { edgeCodes } from "@superstep/edge/error-codes"
import { machineCodes } from "@superstep/machines/port/error-codes"
import { imageCodes } from "@superstep/oci/error-codes"
import { serverCodes } from "@superstep/server/error-codes"
import { startTestHttp } from "@superstep/server/testing/test-http"
import { migrations } from "@superstep/server/testing/test-server"
import { commandCodes } from "@superstep/server/thread-stream/error-codes"
import { internalError, reportedFailure, runErrors } from "@superstep/server/workers/error-codes"
import type { RunFailure } from "@superstep/server/workers/port"
import { toolkitCodes } from "@superstep/toolkit/errors/error-codes"
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { errorAddress } from "@superstep/toolkit/errors/explain"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { exitCodes as workerExitCodes } from "@superstep/worker-js/exit-codes"
import { cliCodes, exitCodes } from "superstep/error-codes"
import { expectPage } from "./testing/printed-page.js"

type Entries = Readonly<Record<string, ErrorEntry>>

const root = new URL("../../", import.meta.url)
const page = new URL("docs/errors.md", root)

interface Section {
  readonly title: string
  readonly words: string
  readonly entries: Entries
}

const exits = Object.fromEntries(
  Object.entries(exitCodes).map(([code, { of, ...entry }]) => [
    `exit ${code}`,
    { ...entry, what: `Of ${of}. ${entry.what}` },
  ]),
)

const sections: readonly Section[] = [
  {
    title: "Every server",
    words:
      "Replies of the control plane, the edge and agent servers, and errors that any program of Superstep may end with.",
    entries: toolkitCodes,
  },
  {
    title: "Agent server",
    words:
      "Replies of agents, in both forms of the API. MCP and A2A carry the numbers of JSON-RPC, which their own specifications explain; " +
      "the text in `message` is the `detail` of the code here.",
    entries: serverCodes,
  },
  {
    title: "Commands of the stream protocol",
    words:
      "The field `error` of a reply to a command of a thread's stream (v2), which has `message` and `doc_url` too. Such replies have " +
      "status 200.",
    entries: commandCodes,
  },
  {
    title: "Runs",
    words:
      "The field `error` of a run that the platform ended, in the event `error`, in `__error__` and in webhooks, with its address in `doc_url`. Any other name " +
      "is an exception of the graph or of LangGraph, and has no address.",
    entries: runErrors,
  },
  {
    title: "Edge",
    words: "Replies of the proxy in front of all agents, for requests that reached no agent.",
    entries: edgeCodes,
  },
  {
    title: "Control plane",
    words:
      "Replies of the API of deployments and of the console, and errors that the control plane logs or does not start with.",
    entries: controlCodes,
  },
  {
    title: "Revisions",
    words:
      "The `error_code` of a revision. Its status is `BUILD_FAILED`, `DEPLOY_FAILED`, `SKIPPED` or `INTERRUPTED`; or `DEPLOYED`, when it served and " +
      "was replaced. `status_message` has the reason of this case and the next step.",
    entries: revisionCodes,
  },
  {
    title: "Machines",
    words:
      "What runs agents: processes, containers, pods, images. In the `status_message` of a revision that waits, in logs, and at the start.",
    entries: { ...machineCodes, ...imageCodes },
  },
  { title: "Command line", words: "Errors of `superstep`. It exits with code 1.", entries: cliCodes },
  { title: "Exit codes", words: "Of all programs.", entries: exits },
]

function entryText([code, { http, what, cause, next }]: [string, ErrorEntry]): string {
  const status = http.length === 0 ? "" : `**HTTP ${http.join(", ")}.** `
  return [`### ${code}`, `${status}${what}`, `- Usual cause: ${cause}\n- Next step: ${next}`].join("\n\n")
}

const inOrder = (entries: Entries) =>
  Object.entries(entries).toSorted(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))

const reference = `${[
  "# Errors",
  "Every error reply is JSON with these fields; `superstep` prints the address of the entry below its message:",
  '```json\n{\n  "detail": "Thread is busy: a run of thread … is pending or running",\n  "code": "thread_busy",\n  "doc_url": "docs/errors.md#thread_busy",\n' +
    '  "request_id": "01a1f938-…"\n}\n```',
  "`detail` is for people and changes between releases; `code` is for programs and does not. `request_id` finds the request in the log of the server. " +
    "A revision has `error_code`, `error_doc_url` and `status_message`. A code without an HTTP status is stored, logged or printed; if a request " +
    "meets it nevertheless, its status is 500. The anchor of an entry is its code, in lower case.",
  "This page is printed from the `error-codes.ts` of each folder: `UPDATE_DOCS=1 npm test -- errors-reference` updates it. " +
    "A control plane serves it at `/docs/errors`. By symptom instead of by code: [troubleshooting](troubleshooting.md).",
  ...sections.map(({ title, words, entries }) =>
    [`## ${title}`, words, ...inOrder(entries).map(entryText)].join("\n\n"),
  ),
].join("\n\n")}\n`

const codes: Entries = Object.assign({}, ...sections.map(({ entries }) => entries))

test("the page has one entry for each code", async () => {
  await expectPage(page, reference)
  const all = sections.flatMap(({ entries }) => Object.keys(entries))
  assert.equal(new Set(all).size, all.length)
})

const foldersOfWorkers = ["workers/js/src", "workers/python/superstep_worker"]
const shippedFolders = [
  "toolkit/src",
  "server/src",
  "oci/src",
  "edge/src",
  "builder/src",
  "machines/src",
  "control/src",
  "cli/src",
  ...foldersOfWorkers,
]

/** The sources that are shipped, without the entries themselves. */
async function shippedSources(folders: readonly string[]): Promise<string> {
  const texts = folders.map(async (folder) => {
    const entries = await readdir(new URL(folder, root), { recursive: true, withFileTypes: true })
    const files = entries.filter(({ name }) => /\.(ts|py)$/.test(name) && !/\.test\.ts$|^error-codes\.ts$/.test(name))
    return Promise.all(files.map(({ parentPath, name }) => readFile(`${parentPath}/${name}`, "utf8")))
  })
  return (await Promise.all(texts)).flat().join("\n")
}

test("each entry is of a code that a program makes, and workers make no other", async () => {
  const [sources, ofBothWorkers] = await Promise.all([shippedFolders, foldersOfWorkers].map(shippedSources))

  const unused = Object.keys(codes).filter(
    (code) => !code.startsWith("exit ") && !sources?.includes(`"${code}"`) && !sources?.includes(`'${code}'`),
  )
  // Workers do not share the types. Their replies are written in many ways: in one line or several, in both kinds of quotes.
  const fields = ofBothWorkers?.matchAll(/\bcode["']?\s*[:=]\s*["']([a-z]\w*)["']/g) ?? []
  const replies = [...fields].map(([, code = ""]) => code)
  const addresses = [...(ofBothWorkers?.matchAll(/docs\/errors\.md#([a-z]\w*)/g) ?? [])].map(([, code]) => code)
  const ofWorkers = new Set(replies)

  assert.deepEqual(unused, [])
  const unknown = [...ofWorkers].filter((code) => !(code in codes))
  assert.deepEqual(unknown, [])
  assert.deepEqual([...ofWorkers].toSorted(), ["not_found", "unavailable", "websocket_of_app"], "none is overlooked")
  assert.deepEqual(addresses.toSorted(), replies.toSorted(), "each reply has the address of its entry")
})

test("the exit codes of workers are those of the page, in both languages", async () => {
  const python = await readFile(new URL("workers/python/superstep_worker/main.py", root), "utf8")
  const ofPython = [...python.matchAll(/^_(\w+) = (\d+)$/gm)].map(([, name = "", code]) => [
    name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    Number(code),
  ])

  assert.deepEqual(Object.fromEntries(ofPython), workerExitCodes)
  const documented = Object.entries(exitCodes).filter(([, { of }]) => of === "a worker")
  const exitsOfWorkers = documented.map(([code]) => Number(code))
  assert.deepEqual(exitsOfWorkers, Object.values(workerExitCodes))
})

interface Refusal {
  readonly status: number
  readonly body: { readonly code?: string; readonly doc_url?: string; readonly detail?: unknown }
}

function checkRefusal({ status, body }: Refusal, expected: string): void {
  assert.equal(body.code, expected, JSON.stringify(body))
  assert.ok(
    codes[expected]?.http.includes(status),
    `${expected} has ${status}, and the page says ${codes[expected]?.http}`,
  )
  assert.equal(body.doc_url, errorAddress(expected as Parameters<typeof errorAddress>[0]))
  assert.equal(body.doc_url, `docs/errors.md#${expected}`)
  assert.notEqual(body.detail, undefined)
}

test("a code without an entry, or with another status, does not compile", () => {
  // @ts-expect-error  no table has it
  const unknown = new Conflict("", "unheard_of")
  // @ts-expect-error  its entry says 404
  const misplaced = new Conflict("", "not_found")

  assert.ok(!(unknown.code in codes))
  assert.ok(!codes[misplaced.code]?.http.includes(409))
})

test("a failed revision names its entry", async () => {
  await using api = await startApi()
  const { body: deployment } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const path = `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}`
  const before = await api.call("GET", path)

  await api.call("POST", `${path}/interrupt`)
  const after = await api.call("GET", path)

  assert.deepEqual([before.body.error_code, before.body.error_doc_url], [null, null])
  assert.deepEqual([after.body.error_code, after.body.error_doc_url], ["interrupted", "docs/errors.md#interrupted"])
})

test("replies of an agent server have the status and the address of the page", async () => {
  await using db = await freshDatabase({ migrations })
  await using http = await startTestHttp(db)
  const ask = async (method: string, path: string, body?: unknown): Promise<Refusal> => {
    const { status, json } = await http.send(method, path, body)
    return { status, body: json as Refusal["body"] }
  }
  const { json } = await http.send("POST", "/threads", {})
  const { thread_id: id } = json as { thread_id: string }

  checkRefusal(await ask("POST", "/threads", { thread_id: id }), "thread_exists")
  checkRefusal(await ask("POST", `/threads/${id}/state`, { values: {} }), "no_graph")
  checkRefusal(await ask("PUT", "/store/items", { namespace: [], key: "k", value: {} }), "namespace_required")
})

test("a failed command and a run that the platform ended name their entries", async () => {
  await using db = await freshDatabase({ migrations })
  await using http = await startTestHttp(db, { runTimeoutMs: 1 })
  const { json: thread } = await http.send("POST", "/threads", {})
  const { thread_id: id } = thread as { thread_id: string }

  const { json: reply } = await http.send("POST", `/threads/${id}/commands`, { id: 1, method: "nope" })
  const { json: result } = await http.send("POST", `/threads/${id}/runs/wait`, { assistant_id: "agent", input: {} })

  assert.equal((reply as { doc_url: string }).doc_url, "docs/errors.md#unknown_command")
  const { error, doc_url } = (result as { __error__: RunFailure }).__error__
  assert.deepEqual([error, doc_url], ["RunTimeout", "docs/errors.md#runtimeout"])
  const client = new Client({ apiUrl: http.url, apiKey: null })
  await assert.rejects(client.runs.wait(id, "agent", { input: {} }), /^Error: RunTimeout: the run took longer/)
  const failures: unknown[] = []
  for await (const { event, data } of client.runs.stream(id, "agent", { input: {} }))
    if ((event as string) === "error") failures.push((data as unknown as RunFailure).doc_url)
  assert.deepEqual(failures, [doc_url])
})

test("an error of the graph has no entry, whatever its name", () => {
  const ofGraph = { error: "InternalError", message: "could not open relation" }

  assert.deepEqual(reportedFailure(ofGraph), ofGraph)
  assert.equal(reportedFailure(internalError).doc_url, "docs/errors.md#internalerror")
})
