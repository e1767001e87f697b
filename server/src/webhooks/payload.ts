/** The body of a webhook call: the ended run (agent-server-api §14). Pure. */
import { parseJson, RawJson, rawJson, toJsonText } from "@superstep/toolkit/http/json"
import type { Delivery } from "./queries.js"

/** @returns the JSON text of a call's body */
export function payloadText(delivery: Delivery, sentAt: Date): string {
  return toJsonText({
    run_id: delivery.run_id,
    thread_id: delivery.thread_id,
    assistant_id: delivery.assistant_id,
    created_at: delivery.run_created_at,
    updated_at: delivery.run_ended_at,
    status: delivery.status,
    metadata: new RawJson(delivery.metadata),
    kwargs: withoutInternals(parseJson(delivery.kwargs)),
    multitask_strategy: delivery.multitask_strategy,
    attempt: delivery.attempt,
    run_started_at: delivery.run_started_at,
    run_ended_at: delivery.run_ended_at,
    webhook_sent_at: sentAt,
    values: rawJson(delivery.values),
    // Absent without an error, because receivers check whether the field is present.
    ...(delivery.error !== null && { error: new RawJson(delivery.error) }),
  })
}

// The caller's user data and permissions are for the graph, not for webhook receivers (§6.3).
const isInternal = (key: string) => key.startsWith("__") || key.startsWith("langgraph_auth_")

function withoutInternals(kwargs: { config?: { configurable?: object } }): object {
  if (!kwargs.config?.configurable) return kwargs
  const open = Object.entries(kwargs.config.configurable).filter(([key]) => !isInternal(key))
  return { ...kwargs, config: { ...kwargs.config, configurable: Object.fromEntries(open) } }
}
