/** The list of an agent's threads, with its filters. */

import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { Menu, MenuItem, MenuTrigger } from "react-aria-components/Menu"
import { Popover } from "react-aria-components/Popover"
import { useAgent } from "../agent/use-agent.js"
import { useAssistants } from "../assistants/agent-graph.js"
import { Button, onlyReads } from "../frame/button.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { Plus } from "../frame/icons.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { useSearchState } from "../frame/search.js"
import { areSet, filtersIn, noFilters } from "./filters.js"
import { listRequests, useThreadCount } from "./thread-data.js"
import { ThreadFilters } from "./thread-filters.js"
import { ThreadList } from "./thread-list.js"

export function ThreadsPage() {
  const agent = useAgent()
  const [filters, change] = useSearchState(filtersIn)
  const { data: count, error } = useThreadCount(filters)
  const creation = useCreation()
  return (
    <Page
      title="Threads"
      isWide
      actions={
        <>
          <CurlButton requests={listRequests(agent, filters)} />
          <NewThread creation={creation} />
        </>
      }
    >
      <div className="page-rest">
        <ThreadFilters filters={filters} onChange={change} count={count} />
        {error && <Problem error={error} />}
        {creation.error && !error && <Problem error={creation.error} />}
        {count === 0 && !areSet(filters) && (
          <Empty title="No threads yet" action={<NewThread creation={creation} />}>
            A thread is a durable conversation: it keeps its state between runs. Start one here, or create it by API.
          </Empty>
        )}
        {count === 0 && areSet(filters) && (
          <Empty
            title="No thread matches"
            action={<Button onPress={() => change(noFilters)}>Remove all filters</Button>}
          >
            Text is searched in the values of the last finished run, metadata must contain all given pairs, such as
            user:ann plan:pro.
          </Empty>
        )}
        {count !== undefined && count > 0 && <ThreadList filters={filters} count={count} />}
      </div>
    </Page>
  )
}

type Creation = ReturnType<typeof useCreation>

/** Creates a thread for an assistant and opens it. */
function useCreation() {
  const { client, base } = useAgent()
  const navigate = useNavigate()
  const { assistants, error } = useAssistants()
  const creating = useMutation({
    mutationFn: (index: number) => {
      const { graph_id, assistant_id } = assistants[index] ?? { graph_id: "", assistant_id: "" }
      return client.threads.create({ metadata: { graph_id, assistant_id } })
    },
    onSuccess: ({ thread_id }) => navigate({ to: `${base}/threads/${thread_id}` }),
  })
  return { assistants, create: creating.mutate, isPending: creating.isPending, error: error ?? creating.error }
}

/** With several graphs it asks for which. */
function NewThread({ creation }: { creation: Creation }) {
  const { mayRun } = useAgent()
  const { assistants, create, isPending } = creation
  const blocked = mayRun
    ? assistants.length === 0
      ? "No assistant is there for it: no graph loads, or the access rules hide them."
      : undefined
    : onlyReads
  const button = (onPress?: () => void) => (
    <Button look="primary" isPending={isPending} disabledBecause={blocked} {...(onPress && { onPress })}>
      <Plus size={14} aria-hidden /> New thread
    </Button>
  )
  if (blocked !== undefined || assistants.length === 1) return button(() => create(0))
  return (
    <MenuTrigger>
      {button()}
      <Popover className="popover" placement="bottom end">
        <Menu className="menu" aria-label="The thread's assistant" onAction={(key) => create(Number(key))}>
          {assistants.map(({ assistant_id, name, graph_id }, index) => (
            <MenuItem key={assistant_id} id={index} className="menu-item">
              {name}
              {name !== graph_id && <span className="menu-note">{graph_id}</span>}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
