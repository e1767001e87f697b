/** How an attempt ended, in words (docs/durability.md). Pure. */

const texts: Readonly<Record<string, string>> = {
  success: "finished",
  error: "failed",
  timeout: "ran into its time limit",
  interrupted: "interrupted",
  handed_back: "handed back when its server shut down",
  worker_died: "its worker process died",
  worker_blocked: "it blocked the event loop of its worker process",
  shared_worker_died: "its worker process died while it executed other runs, too",
  lease_ended: "its server was gone: the lease ended",
  server_restarted: "its server restarted",
  abandoned: "its server did not execute it",
}

/** @param ending  null while the attempt executes */
export const endingText = (ending: string | null): string => (ending === null ? "executing" : (texts[ending] ?? ending))
