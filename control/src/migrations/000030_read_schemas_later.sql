-- Schemas that only a graph's source contains are read after the deployment, not during its build (docs/decisions/0032-schemas-are-read-after-the-deployment.md).

alter table artifacts
  -- When they are to be read; null when there is nothing to read, or it was done.
  add column schemas_due_at timestamptz;

create index artifact_with_due_schemas on artifacts (schemas_due_at) where schemas_due_at is not null;
