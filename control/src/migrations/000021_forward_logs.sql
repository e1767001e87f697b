-- Stored log lines are forwarded to the operator's sink. The cursors say what it has accepted, so a killed control plane
-- loses nothing.

create table log_forwarding (
  is_only boolean primary key default true check (is_only),
  -- Whether the control plane that started last has a sink.
  is_on boolean not null,
  -- The newest line when a sink was set for the first time; only later lines are forwarded.
  begins_after bigint not null,
  sent_lines bigint not null default 0,
  -- Lines that the sink accepted the request for and rejected itself, and lines that were deleted before they were sent.
  rejected_lines bigint not null default 0,
  lost_lines bigint not null default 0,
  -- Since when every request has failed, and why the last one did.
  failing_since timestamptz,
  failure text,
  check ((failing_since is null) = (failure is null))
);

create table log_forwarding_cursors (
  deployment_id uuid primary key references deployments on delete cascade,
  -- The last line that the sink has accepted; without a row, `begins_after`.
  forwarded_line_id bigint not null
);

-- What is not sent yet of a deployment begins after this line.
create function forwarded_line(of_deployment uuid) returns bigint language sql stable
  return coalesce(
    (select forwarded_line_id from log_forwarding_cursors where deployment_id = of_deployment),
    (select begins_after from log_forwarding));
