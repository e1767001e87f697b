/** The error codes of the agent server's replies, as `docs/errors.md` explains them. */
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"
import type { CommandCodes } from "./thread-stream/error-codes.js"

export const serverCodes = {
  thread_busy: {
    http: [409],
    what: "A run of the thread is pending or running, and the request needs an idle thread.",
    cause:
      'A second message while the first is answered, with `multitask_strategy: "reject"`; or an update of the state during a run.',
    next: "Wait for the run (`runs.join`), cancel it, or send `multitask_strategy` `enqueue`, `interrupt` or `rollback`.",
  },
  approval_required: {
    http: [403],
    what: "The person may start runs, but not answer what an agent asks, nor change or remove what is saved.",
    cause:
      "The role `run`, with a run that has a command, no input, a checkpoint or breakpoints of its own, with an update of a state, with a deletion, a prune, a time to live or a rollback, or with a cron of such a run.",
    next: "Ask an admin of the workspace for the role `approve`.",
  },
  thread_exists: {
    http: [409],
    what: "A thread with this id exists.",
    cause: "The client chose the id, and `if_exists` is `raise`, the default.",
    next: 'Send `if_exists: "do_nothing"` to get the existing thread, or another id.',
  },
  thread_not_found: {
    http: [409],
    what: "The thread was deleted while the request changed it.",
    cause: "Another request, or the thread's time to live, deleted it.",
    next: "Create another thread.",
  },
  thread_changed: {
    http: [409],
    what: "Other requests change the thread, or the assistant of a new run, so often that this one found no moment for its own change.",
    cause:
      "Several clients update the state of one thread, or answer the same interrupt, at the same time; or a program changes an assistant in a loop.",
    next: "Read the state again, and send the request again if it still applies.",
  },
  assistant_exists: {
    http: [409],
    what: "An assistant with this id exists.",
    cause: "The client chose the id, and `if_exists` is `raise`, the default.",
    next: 'Send `if_exists: "do_nothing"` to get the existing one, or another id.',
  },
  id_taken: {
    http: [409],
    what: "The id that the client chose for a run or a cron is in use.",
    cause: "The same request was sent twice, or ids repeat.",
    next: "Send another id, or none. To send a request again safely, use the header `Idempotency-Key`.",
  },
  graph_unavailable: {
    http: [409],
    what: "The project names this graph, and it did not load.",
    cause: "Its module throws while it loads; `detail` has the message.",
    next: "Correct the code and deploy again; `superstep dev` loads it in the same way, and `superstep check` loads all graphs in JavaScript.",
  },
  no_graph: {
    http: [400],
    what: "The thread belongs to no graph yet, so it has no state to read or change.",
    cause: "The thread was created without a run.",
    next: "Start a run on it first, or create it with `graph_id` in its metadata.",
  },
  not_supported: {
    http: [409],
    what: "The graph's worker cannot do this. In a command of the stream protocol: the command needs a WebSocket.",
    cause: "The language of the graph or its version of LangGraph lacks the function; `detail` names it.",
    next: "Upgrade the project's `langgraph` package, or use another method ([compatibility](compatibility.md)).",
  },
  run_in_flight: {
    http: [409],
    what: "The run is pending or running, so it cannot be deleted.",
    cause: "A run is deleted before its end.",
    next: "Cancel it and wait (`runs.cancel` with `wait`), or delete it with `force=1`.",
  },
  run_in_use: {
    http: [409],
    what: "Another run of the thread starts from a checkpoint of this one, so it cannot be deleted.",
    cause: "A waiting or running run was started from an earlier checkpoint.",
    next: "Cancel the run that `detail` names, or wait for its end.",
  },
  run_gone: {
    http: [409],
    what: "A request was repeated with its `Idempotency-Key`, and the run that the first one created was deleted.",
    cause: "The run was deleted, or its stateless thread has ended.",
    next: "Send the request with another key.",
  },
  graph_error: {
    http: [409],
    what: "The graph's code, or LangGraph itself, refused the operation.",
    cause:
      "An update of the state with a wrong node or value, or a graph whose drawing or schema throws; `detail` has the text.",
    next: "Correct what `detail` names, in the request or in the graph.",
  },
  embedding_failed: {
    http: [409],
    what: "The embedding function of the store's index failed, so the item was not stored or searched for.",
    cause: "The model's key is missing or its host does not answer; `detail` has the text.",
    next: "Correct `store.index.embed` of `langgraph.json` or its variables, then send the request again.",
  },
  item_changed: {
    http: [409],
    what: "The stored item is not the one that the request names in `if_value`, so nothing was written.",
    cause:
      "An agent or another client put or deleted the item after it was read; or `if_value` is null, and there is an item.",
    next: "Read the item again, and send its present value as `if_value` if your change still applies.",
  },
  namespace_required: {
    http: [400],
    what: "An item of the store needs a namespace with at least one label.",
    cause: "An empty `namespace`.",
    next: 'Send one, such as `["users", "u1"]`.',
  },
  webhook_refused: {
    http: [422],
    what: "The address of the run's webhook is not allowed.",
    cause: "It is no http or https address, or leads into a private network, which the operator has not permitted.",
    next: "Use a public address, or let the operator change the rules ([webhooks](webhooks.md)).",
  },
  invalid_config: {
    http: [422],
    what: "`langgraph.json` has values that cannot be used.",
    cause: "A missing or wrong field; the message names every one.",
    next: "Correct the file ([langgraph.json](langgraph-json.md)).",
  },
  not_acceptable: {
    http: [400],
    what: "The method answers with a type that the request's `Accept` header excludes.",
    cause: "A client that asks for JSON only where the answer is an event stream, or the other way round.",
    next: "Add the type that `detail` names to the `Accept` header.",
  },
  upgrade_required: {
    http: [400],
    what: "GET opens a WebSocket here, and the request is an ordinary one.",
    cause: "An event stream was requested by GET, or a proxy in between drops the header `Upgrade`.",
    next: "Send POST for an event stream, or let the proxy pass `Upgrade` ([operations](operations.md)).",
  },
  websocket_of_app: {
    http: [501],
    what: "The project's own app in JavaScript cannot open a WebSocket.",
    cause: "`http.app` is a Hono app; WebSockets need an app in Python.",
    next: "Stream a response instead, such as server-sent events, or write the app in Python.",
  },
  project_code_failed: {
    http: [500],
    what: "The project's own `auth` or `http.app` does not load, so no request can be answered.",
    cause: "Its module throws while it loads.",
    next: "See the log of the deployment (`superstep logs <name>`), correct the code and deploy again.",
  },
  unknown_method: {
    http: [],
    what: "The server and a worker disagree about the protocol between them.",
    cause: "They are of different releases.",
    next: "Deploy again, so that the server and its workers are of one release.",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

type ServerCodes = typeof serverCodes & CommandCodes

declare module "@superstep/toolkit/errors/codes" {
  interface ErrorCodes extends ServerCodes {}
}
