/** An answer in words, where it is simple enough. Pure. */

const decisionTexts: Readonly<Record<string, string>> = {
  approve: "Approved",
  accept: "Approved",
  edit: "Approved with changes",
  respond: "Answered",
  response: "Answered",
  reject: "Rejected",
  ignore: "Rejected",
}

/** @returns undefined for an answer that is shown as JSON */
export function answerText(answer: unknown): string | undefined {
  if (typeof answer === "string") return answer === "" ? "An empty text." : answer
  if (typeof answer === "boolean") return answer ? "Yes" : "No"
  if (typeof answer === "number") return String(answer)
  if (answer === null) return "Nothing."
  const decisions = Array.isArray(answer) ? answer : (answer as { readonly decisions?: unknown } | undefined)?.decisions
  if (!Array.isArray(decisions) || decisions.length === 0) return undefined
  const texts = decisions.map(decisionText)
  return texts.includes(undefined) ? undefined : texts.join(", ")
}

/** A decision of LangChain's middleware or agent inbox; one that carries new arguments is shown as JSON. */
function decisionText(decision: unknown): string | undefined {
  if (typeof decision !== "object" || decision === null || !("type" in decision)) return undefined
  const { type, message, args } = decision as { type: unknown; message?: unknown; args?: unknown }
  const text = decisionTexts[String(type)]
  if (text === undefined || type === "edit") return undefined
  const words = typeof message === "string" && message !== "" ? message : typeof args === "string" ? args : undefined
  return words === undefined ? text : `${text}: ${words}`
}
