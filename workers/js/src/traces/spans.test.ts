/** The trace of a run, as the workers of both languages record it. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Span } from "@superstep/protocol/worker/frames"
import type { FakeServer, Received } from "../testing/fake-server.js"
import { inBothLanguages } from "../testing/languages.js"

interface Recorded extends Span {
  readonly content: { readonly input?: unknown; readonly output?: unknown } | undefined
}

/** The spans of a run as they were at its end, in the order in which they began. */
function spansOf({ received }: FakeServer, claimId: string): Recorded[] {
  const spans = new Map<number, Recorded>()
  for (const { header, lines } of received) {
    if (header.type !== "spans" || header.claim_id !== claimId) continue
    header.spans.forEach((span, n) => {
      const line = lines[n] ?? ""
      spans.set(span.number, { ...span, content: line === "" ? undefined : JSON.parse(line) })
    })
  }
  return [...spans.values()].sort((a, b) => a.number - b.number)
}

/** `kind name` of each span, indented by its depth. */
function treeOf(spans: readonly Recorded[]): string[] {
  const depthOf = (span: Recorded | undefined): number =>
    span?.parent === undefined ? 0 : 1 + depthOf(spans.find(({ number }) => number === span.parent))
  return spans.map((span) => `${"  ".repeat(depthOf(span))}${span.kind} ${span.name}`)
}

const one = (spans: readonly Recorded[], kind: Span["kind"], n = 0): Recorded => {
  const found = spans.filter((span) => span.kind === kind)[n]
  if (found === undefined) throw new Error(`no span ${n} of kind ${kind} in ${treeOf(spans).join(", ")}`)
  return found
}

inBothLanguages(
  ["agent", "nested", "error", "hitl", "slow", "echo", "many", "odd", "unfinished", "wide", "unreadable"],
  ({ name, server }) => {
    test("an agent's trace has its nodes, models and tools with prompt, answer, arguments, result and tokens", async () => {
      const input = { messages: [{ role: "user", content: "1 + 2?" }] }

      const { frame, status } = await server().run("agent", { input, trace: "full", stream_modes: ["messages-tuple"] })

      const spans = spansOf(server(), frame.claim_id)
      assert.equal(status, "success")
      const work = spans.filter(({ kind }) => kind !== "chain")
      const tree = treeOf(work).map((line) => line.replace(/model .*/, "model"))
      assert.deepEqual(tree, [
        "graph LangGraph",
        "  node agent",
        "    model",
        "  node tools",
        "    tool add",
        "  node agent",
        "    model",
      ])
      assert.equal(one(spans, "graph").span_id, frame.run_id)
      assert.match(one(spans, "node").namespace, /^agent:[0-9a-f-]{36}$/)
      const first = one(spans, "model")
      const [prompt] = first.content?.input as { type: string; content: string }[]
      assert.deepEqual([prompt?.type, prompt?.content], ["human", "1 + 2?"])
      assert.deepEqual([first.input_tokens, first.output_tokens, first.response_model], [3, 4, "scripted-1"])
      assert.equal(first.model, undefined, "nothing says which one was asked")
      const { content, tool_calls: calls } = one(spans, "model", 1).content?.output as Record<string, unknown>
      assert.deepEqual([content, calls], ["The sum is 3.", []])
      const tool = one(spans, "tool")
      assert.deepEqual(tool.content?.input, { a: 1, b: 2 })
      assert.equal((tool.content?.output as { content: string }).content, "3")
      assert.equal(tool.tool_call_id, "call_1")
      assert.equal((one(spans, "graph").content?.output as { messages: unknown[] }).messages.length, 4)
    })

    test("a subgraph is a graph in its node, and its spans have its namespace", async () => {
      const { frame } = await server().run("nested", { input: { log: [] }, trace: "full" })

      const spans = spansOf(server(), frame.claim_id)
      const [outer, inner] = spans.filter(({ kind }) => kind === "graph")
      const nodes = spans.filter(({ kind }) => kind === "node")
      assert.equal(outer?.parent, undefined)
      assert.equal(nodes.find(({ number }) => number === inner?.parent)?.name, "sub")
      assert.deepEqual(
        nodes.map(({ name: node, parent }) => [node, parent]),
        [
          ["first", outer?.number],
          ["sub", outer?.number],
          ["inner", inner?.number],
        ],
      )
      assert.match(one(spans, "model").namespace, /^sub:[0-9a-f-]{36}\|inner:[0-9a-f-]{36}$/)
    })

    test("with timings only, no value leaves the worker; without a trace, nothing", async () => {
      const { frame } = await server().run("nested", { input: { log: ["a secret"] }, trace: "timings" })
      const { frame: untraced } = await server().run("nested", { input: { log: [] } })

      const frames = server().received.filter(
        ({ header }) => "claim_id" in header && header.claim_id === frame.claim_id,
      )
      const sent = frames.filter(({ header }) => header.type === "spans")
      assert.ok(sent.length > 0)
      assert.deepEqual(new Set(sent.flatMap(({ lines }) => lines)), new Set([""]))
      assert.ok(!JSON.stringify(sent).includes("a secret"))
      assert.deepEqual(spansOf(server(), untraced.claim_id), [])
    })

    test("with models only, the worker sends their times and tokens, and nothing else", async () => {
      const input = { messages: [{ role: "user", content: "a secret" }] }

      const { frame } = await server().run("agent", { input, trace: "models", stream_modes: ["messages-tuple"] })
      const { frame: without } = await server().run("echo", { input: {}, trace: "models" })

      const spans = spansOf(server(), frame.claim_id)
      assert.deepEqual(
        spans.map((span) => [span.kind, span.input_tokens, span.output_tokens, span.content]),
        [
          ["model", 3, 4, undefined],
          ["model", 9, 3, undefined],
        ],
      )
      for (const { started_us: begun, first_token_us: token = 0, ended_us: end = 0 } of spans)
        assert.ok(begun <= token && token <= end)
      assert.deepEqual(spansOf(server(), without.claim_id), [])
    })

    test("a failed node and its graph have the error", async () => {
      const { frame, error } = await server().run("error", { input: {}, trace: "full" })

      const spans = spansOf(server(), frame.claim_id)
      assert.deepEqual(
        [spans.findLast(({ kind }) => kind === "node"), one(spans, "graph")].map((span) => [
          span?.status,
          span?.error?.message,
        ]),
        [
          ["error", error?.message],
          ["error", error?.message],
        ],
      )
    })

    test("an error whose message cannot be read fails its span, and a run only if nobody catches it", async () => {
      const caught = await server().run("unreadable", { input: { caught: true }, trace: "timings" })
      const thrown = await server().run("unreadable", { input: { caught: false }, trace: "full" })

      assert.deepEqual([caught.status, thrown.status], ["success", "error"])
      for (const { frame } of [caught, thrown]) {
        const failing = spansOf(server(), frame.claim_id).find((span) => span.name === "failing")
        assert.equal(failing?.status, "error")
        assert.match(failing?.error?.message ?? "", /cannot be read/)
      }
    })

    test("values whose classes fail to become JSON, or take long to, do not keep a run from its end", async () => {
      const broken = await server().run("odd", { input: { what: "broken" }, trace: "full" })
      const costly = await server().run("odd", { input: { what: "costly" }, trace: "full" })

      assert.deepEqual([broken.status, costly.status], ["success", "success"])
      const [unread] = spansOf(server(), broken.frame.claim_id).filter((span) => span.name === "same")
      assert.match(JSON.stringify(unread?.content), /no form/)
      const spans = spansOf(server(), costly.frame.claim_id).filter((span) => span.name === "same")
      const leftOut = spans.filter(({ content }) => String(content?.input).startsWith("… (left out"))
      assert.equal(spans.length, 20)
      assert.ok(leftOut.length >= 5 && leftOut.length < 20, `${leftOut.length} are left out`)
      assert.deepEqual(new Set(spans.map(({ status }) => status)), new Set(["success"]))
    })

    test("a tool that takes one text has this text in the trace, also when it is JSON", async () => {
      const { frame } = await server().run("odd", { input: { what: "texts" }, trace: "full" })

      const tools = spansOf(server(), frame.claim_id).filter(({ kind }) => kind === "tool")
      const inputs = tools.map(({ content }) => content?.input)
      assert.deepEqual(inputs, ["123", "true", "null", "[1]", '"quoted"', "{no JSON"])
    })

    test("a node that waits for an answer is interrupted, not failed", async () => {
      const { frame, status } = await server().run("hitl", { input: {}, trace: "full" })

      const spans = spansOf(server(), frame.claim_id)
      assert.equal(status, "interrupted")
      const asking = spans.filter(({ kind }) => kind === "node").at(-1)
      assert.deepEqual([asking?.status, asking?.error], ["interrupted", undefined])
    })

    const cancelled = [
      ["that stops when it is told", "slow", { n: 0 }],
      ["that does not stop", "odd", { what: "deaf" }],
    ] as const
    for (const [what, graphId, input] of cancelled) {
      test(`the spans of a cancelled run ${what} are cancelled, and have ended`, async () => {
        const config = { configurable: { tick_ms: 60_000 } }
        const frame = server().startRun(graphId, { input, config, trace: "timings" })
        const { claim_id, run_id } = frame
        // It has begun, as the spans that are sent while the run executes show.
        await server().frame(
          ({ header }) =>
            header.type === "spans" &&
            header.claim_id === claim_id &&
            header.spans.some(({ kind, status }) => kind === "node" && status === "running"),
        )
        server().send({ type: "cancel", run_id, claim_id })

        await server().done(frame)

        const spans = spansOf(server(), claim_id)
        assert.deepEqual([...new Set(spans.map(({ kind }) => kind))], ["graph", "node"])
        for (const { kind, status, error, ended_us: end } of spans) {
          assert.deepEqual([kind, status, error, end === undefined], [kind, "cancelled", undefined, false])
        }
      })
    }

    test("work that has not ended when its run does is cancelled", async () => {
      const { frame } = await server().run("unfinished", { input: { n: 0 }, trace: "timings" })

      const waiting = spansOf(server(), frame.claim_id).find((span) => span.name === "waiting")
      assert.equal(waiting?.status, "cancelled")
      assert.ok(waiting.started_us <= (waiting.ended_us ?? 0))
    })

    test("a run that ends with too much to send sends all its spans, but only a part of their content", async () => {
      const { frame } = await server().run("many", { input: { count: 1_500 }, trace: "full" })

      const spans = spansOf(server(), frame.claim_id).filter(({ kind }) => kind === "chain")
      const length = spans.reduce((sum, { content }) => sum + JSON.stringify(content).length, 0)
      assert.equal(spans.length, 1_500)
      assert.ok(length < 20_000_000, `${length} characters`)
      const last = spans.at(-1)
      assert.deepEqual([last?.status, last?.is_cut], ["success", true])
      assert.match(String(last?.content?.input), /^… \(left out/)
    })

    test("while a run sends the rest of its trace, the worker goes on with everything else", async () => {
      const isSpans = ({ header }: Received) => header.type === "spans" && header.claim_id === frame.claim_id
      const frame = server().startRun("many", { input: { count: 600 }, trace: "full" })
      await server().frame(isSpans)
      server().send({ type: "ping", nonce: "meanwhile" })
      await server().done(frame)

      const answered = server().received.findIndex(
        ({ header }) => header.type === "pong" && header.nonce === "meanwhile",
      )
      assert.ok(answered !== -1 && answered < server().received.findLastIndex(isSpans))
    })

    test("of a value that is too large, objects of any class keep their form, and large numbers and dates are told", async () => {
      const { frame } = await server().run("wide", { input: { n: 0 }, trace: "full" })

      const span = spansOf(server(), frame.claim_id).find((each) => each.name === "wide")
      const { value, large } = span?.content?.input as { value: { items: string[] }; large: unknown }
      assert.equal(span?.is_cut, true)
      assert.equal(value.items.at(-1), "item 1999")
      assert.equal(large, name === "Python" ? "… (a number of about 19931 digits)" : "1970-01-01T00:00:00.000Z")
    })

    test("a state that is too large is cut: the newest messages are kept, and the place is marked", async () => {
      const messages = Array.from({ length: 400 }, (_, n) => ({ role: "user", content: `${n} ${"x".repeat(500)}` }))

      const { frame } = await server().run("agent", { input: { messages }, trace: "full" })

      const { content, is_cut: isCut } = one(spansOf(server(), frame.claim_id), "model")
      const prompt = content?.input as (string | { content: string })[]
      assert.equal(isCut, true)
      assert.match(String(prompt[0]), /^… \(\d+ items before these\)$/)
      assert.match((prompt.at(-1) as { content: string }).content, /^399 x+$/)
      assert.ok(JSON.stringify(content).length < 100_000)
    })
  },
)
