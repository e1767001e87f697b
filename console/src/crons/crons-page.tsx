/** The crons of an agent: when they fire next, switched on and off, run now, created, deleted. */
import { Link } from "@tanstack/react-router"
import { agentRequest } from "../agent/agent-request.js"
import { useAgent } from "../agent/use-agent.js"
import { onlyReads } from "../frame/button.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { actionsHead, Table } from "../tables/table.js"
import { cronSearch, useCronActions, useCrons } from "./cron-data.js"
import { CronRow } from "./cron-row.js"
import { NewCronDialog } from "./new-cron.js"

export function CronsPage() {
  const agent = useAgent()
  const crons = useCrons()
  const actions = useCronActions()
  const error = actions.enable.error ?? actions.runNow.error
  const run = actions.runNow.data
  return (
    <Page
      title="Crons"
      actions={
        <>
          <CurlButton requests={[agentRequest(agent, "POST", "/runs/crons/search", cronSearch)]} />
          <NewCronDialog />
        </>
      }
    >
      <div role="status" className={run ? "crons-started" : undefined}>
        {run && (
          <>
            The run was created.{" "}
            <Link to={`${agent.base}/threads/${run.thread_id}/runs/${run.run_id}`}>Show the run</Link>
          </>
        )}
      </div>
      {error && <Problem error={error} />}
      {!agent.mayRun && <p className="soft">{onlyReads}</p>}
      {crons.length === 0 && (
        <Empty title="No crons" action={<NewCronDialog />}>
          A cron creates a run whenever it is due: each morning, each hour, on the first of a month.
        </Empty>
      )}
      {crons.length > 0 && (
        <Table label="Crons" heads={["On", "Schedule", "Next", "Assistant", "Thread", actionsHead]}>
          {crons.map((cron) => (
            <CronRow key={cron.cron_id} cron={cron} actions={actions} />
          ))}
        </Table>
      )}
    </Page>
  )
}
