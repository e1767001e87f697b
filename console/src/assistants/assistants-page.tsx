/** The assistants of an agent: their versions, compared, edited, made the latest. */
import { Link } from "@tanstack/react-router"
import { Suspense } from "react"
import { agentRequest } from "../agent/agent-request.js"
import { useAgent } from "../agent/use-agent.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty, Loading } from "../frame/empty.js"
import { Page } from "../frame/page.js"
import { textIn, useSearchState } from "../frame/search.js"
import { requestPath } from "../requests/request-path.js"
import { NewAssistant } from "./assistant-dialogs.js"
import { AssistantPanel } from "./assistant-panel.js"
import { assistantSearch, versionSearch } from "./read-assistants.js"
import { useAssistants } from "./use-assistants.js"

const numberIn = (raw: Readonly<Record<string, unknown>>, name: string): number | undefined => {
  const value = Number(textIn(raw, name) ?? Number.NaN)
  return Number.isNaN(value) ? undefined : value
}

const searchOf = (raw: Readonly<Record<string, unknown>>) => ({
  assistant: textIn(raw, "assistant"),
  version: numberIn(raw, "version"),
  compare: numberIn(raw, "compare"),
})

export function AssistantsPage() {
  const agent = useAgent()
  const assistants = useAssistants()
  const [{ assistant, version, compare }, change] = useSearchState(searchOf)
  const chosen =
    assistant === undefined ? assistants[0] : assistants.find(({ assistant_id }) => assistant_id === assistant)
  const requests = [
    agentRequest(agent, "POST", "/assistants/search", assistantSearch),
    ...(chosen
      ? [agentRequest(agent, "POST", requestPath`/assistants/${chosen.assistant_id}/versions`, versionSearch)]
      : []),
  ]
  return (
    <Page
      title="Assistants"
      actions={
        <>
          <CurlButton requests={requests} />
          <NewAssistant onCreated={(id) => change({ assistant: id, version: undefined, compare: undefined })} />
        </>
      }
    >
      {assistants.length === 0 && <Empty title="No assistants">Each graph that loads has one of its own name.</Empty>}
      {assistants.length > 0 && (
        <div className="assistants beside">
          <ul className="assistants-list card" aria-label="Assistants">
            {assistants.map(({ assistant_id, name, graph_id, version: latest }) => (
              <li key={assistant_id}>
                <Link
                  to="."
                  search={{ assistant: assistant_id } as never}
                  className="pick"
                  aria-current={assistant_id === chosen?.assistant_id ? "true" : undefined}
                >
                  <span className="pick-name">{name}</span>
                  <span className="note">
                    {graph_id} · version {latest}
                  </span>
                </Link>
              </li>
            ))}
          </ul>
          {chosen ? (
            <Suspense fallback={<Loading what="Loading the versions" />}>
              <AssistantPanel
                key={chosen.assistant_id}
                assistant={chosen}
                version={version}
                compare={compare}
                onChange={change}
              />
            </Suspense>
          ) : (
            <p className="soft">
              This assistant does not exist: it was deleted, or its graph is not deployed any more.
            </p>
          )}
        </div>
      )}
    </Page>
  )
}
