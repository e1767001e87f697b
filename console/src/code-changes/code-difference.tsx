/** What changed in the code from one revision to another. It is read when a person opens it: both are fetched for it. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { shortId } from "../deployments/status.js"
import { onlyReads } from "../frame/button.js"
import { Loading } from "../frame/empty.js"
import { Problem } from "../frame/problem.js"
import { paths } from "../platform/paths.js"
import type { CodeChanges, Revision } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { FileChange } from "./file-change.js"

export function CodeDifference({ before, after }: { before: Revision; after: Revision }) {
  const [isOpen, setOpen] = useState(false)
  const { mayWrite } = usePlatform()
  return (
    <details className="code-difference" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        What changed in the code since <code>{shortId(before.id)}</code>
      </summary>
      {!mayWrite && <p className="faint">{onlyReads}</p>}
      {mayWrite && isOpen && <Changes before={before} after={after} />}
    </details>
  )
}

// So many files are open at first.
const openFiles = 5

function Changes({ before, after }: { before: Revision; after: Revision }) {
  const { call } = usePlatform()
  const path = `${paths.revision(after.deployment_id, after.id)}/code-changes?since=${before.id}`
  const { data, error } = useQuery({
    queryKey: ["code-changes", path],
    queryFn: ({ signal }) => call<CodeChanges>(path, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  if (error) return <Problem error={error} />
  if (!data) return <Loading what="Fetching the code of both" />
  if (data.total === 0) return <p className="faint">Nothing: both have the same code.</p>
  const rest = data.total - data.files.length
  return (
    <>
      <p className="faint">
        {data.total} {data.total === 1 ? "file" : "files"} changed. Values of secrets are hidden.
      </p>
      <ul className="code-files" aria-label="Files that changed">
        {data.files.map((file, index) => (
          <FileChange key={file.path} file={file} isOpenFirst={index < openFiles} />
        ))}
      </ul>
      {rest > 0 && <p className="faint">{rest} more files changed; too many to be named here.</p>}
    </>
  )
}
