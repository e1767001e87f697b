/** The `error` of runs that the platform itself ends, as `docs/errors.md` explains them. Any other name is an exception of the graph. */
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"
import { docsAddress } from "@superstep/toolkit/published"
import type { RunFailure } from "./port.js"

export const runErrors = {
  WorkerLost: {
    http: [],
    what: "The process that executed the run died at each of three attempts, or the run blocked its event loop twice.",
    cause:
      "A crash in native code, memory above the limit, `process.exit` in a node, or a computation without a pause.",
    next: "See the log of the deployment for the last lines of the process. Give it more memory (`resource_spec.memory_mb`), or move the computation to a thread; `SUPERSTEP_WORKER_STALLED_SECONDS` is how long it may block.",
  },
  RunTimeout: {
    http: [],
    what: "One attempt of the run took longer than its limit; its status is `timeout`.",
    cause: "A model or a tool that does not answer, or a run that needs longer.",
    next: "Set a time limit on calls in the graph, or raise `BG_JOB_TIMEOUT_SECS`.",
  },
  CheckpointGone: {
    http: [],
    what: "The checkpoint that the run starts from was removed while the run waited.",
    cause: "The run that had written it was deleted or rolled back.",
    next: "Send the run again, from another checkpoint.",
  },
  StateNotSaved: {
    http: [],
    what: "The graph has ended, and its last state could not be saved.",
    cause: "A value of the state that cannot be stored; the message names the reason.",
    next: "Keep values in the state that LangGraph can serialise, then send the run again.",
  },
  GraphLoadError: {
    http: [],
    what: "The graph of the run does not load.",
    cause: "Its module throws while it loads, often since a variable or a package is missing.",
    next: "Correct the code and deploy again; `superstep dev` loads it in the same way, and `superstep check` loads all graphs in JavaScript.",
  },
  GraphNotFound: {
    http: [],
    what: "The project has no graph of this name.",
    cause: "The graph was renamed or removed in a newer revision while runs of it waited, or assistants name it.",
    next: "Add it to `graphs` of `langgraph.json`, or create an assistant of another graph.",
  },
  RunGone: {
    http: [],
    what: "The run was removed, so it has no result. Only in the reply of `wait` and `join`.",
    cause:
      "Another run with `multitask_strategy` `rollback`, a cancel with `action=rollback`, or the deletion of the run or of its thread.",
    next: "Nothing. After a rollback the thread is as before the run. To see the thread's state, read it (`threads.getState`).",
  },
  StateUnavailable: {
    http: [],
    what: "The run has ended, and its state cannot be read. Only in the reply of `wait` and `join`.",
    cause: "Its checkpoint was removed by a time to live, or the graph is not in the project any more.",
    next: "Read the thread instead (`threads.get`), whose values are those after its newest run.",
  },
  InternalError: {
    http: [],
    what: "The server could not answer its worker, for example while it saved a checkpoint.",
    cause: "A bug of the platform, or a fault of its machine.",
    next: "See the log of the server, then send the run again.",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

/** @param name  one that `docs/errors.md` explains */
export const runFailure = (name: keyof typeof runErrors, message: string): RunFailure => ({
  error: name,
  message,
  // Anchors of GitHub and of the site are in lower case.
  doc_url: docsAddress("errors", name.toLowerCase()),
})

/** The answer to a worker's call that met a bug of the server; the run ends with it. Details go only to the log. */
export const internalError: RunFailure = { error: "InternalError", message: "the server could not answer: see its log" }

/** The error of a run as its worker reports it. The name alone proves nothing: Postgres' driver of Python has an `InternalError` too. */
export const reportedFailure = ({ error, message }: RunFailure): RunFailure =>
  error === internalError.error && message === internalError.message
    ? runFailure("InternalError", message)
    : { error, message }
