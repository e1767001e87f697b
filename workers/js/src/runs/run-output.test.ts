/** What graphs print, in real workers of both languages. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { FakeServer } from "../testing/fake-server.js"
import { skip, startPythonWorker, worker } from "../testing/python-worker.js"
import { graphsFolder, workerMain } from "../testing/worker.js"

const languages = [
  {
    name: "JavaScript",
    skip: false,
    start: () => FakeServer.start(workerMain),
    project: graphsFolder,
    graph: "./src/printing.ts:graph",
    stack: /^TypeError: (\w) fails\n {4}at .*printing\.ts/,
  },
  {
    name: "Python",
    skip,
    start: () => startPythonWorker(),
    project: `${worker}testing/twins`,
    graph: "./printing.py:graph",
    stack: /^Traceback \(most recent call last\):\n {2}File .*printing\.py[\s\S]*\nTypeError: (\w) fails$/,
  },
] as const

for (const { name, skip, start, project, graph, stack } of languages) {
  test(`what a graph in ${name} prints has the run that printed it, also where two execute at once`, {
    skip,
  }, async () => {
    await using server = await start()
    assert.deepEqual((await server.load(project, { printing: graph })).failed, [])

    const runs = await Promise.all(["a", "b"].map((said) => server.run("printing", { input: { said } })))

    const [loaded, ...lines] = await server.output(11)
    assert.equal(loaded, "the graph is loaded")
    const entries = lines.map((line) => JSON.parse(line) as Record<string, string>)
    for (const [index, said] of ["a", "b"].entries()) {
      const { run_id, thread_id } = runs[index]?.frame ?? {}
      const own = entries.filter((entry) => entry.run_id === run_id)
      const [begins, pieces, logged, failed, ends] = own.map(({ msg, message }) => msg ?? message)
      assert.ok(own.every((entry) => entry.thread_id === thread_id))
      assert.deepEqual([begins, pieces, logged], [`${said} begins`, `${said} writes in pieces`, `${said} logs`])
      assert.equal(own[2]?.level, "warn")
      assert.equal(stack.exec(failed ?? "")?.[1], said, failed)
      assert.equal(ends, `${said} ends`)
    }
    if (name === "JavaScript") return
    const [thread, entry] = server.errors().trimEnd().split("\n")
    const { level, msg, run_id } = JSON.parse(entry ?? "")
    assert.match(thread ?? "", /^Exception in thread /)
    assert.deepEqual([level, run_id], ["error", undefined])
    assert.match(msg, /^Traceback [\s\S]*\nValueError: nobody catches this$/)
  })
}
