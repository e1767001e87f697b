-- For each change of the edges' table the control plane read the rows of all deployments: N of them for each of N changes. A transaction that
-- changes what a route depends on now notes the deployment here, and the next table reads those that are noted
-- (docs/decisions/0092-one-owner-of-routing.md). Triggers note it, so nothing that writes these rows can forget to. A note without a deployment
-- means all. A control plane that starts reads all deployments; `edge_tables.content_sha256` is for the release before.
create table route_changes (deployment_id uuid);

create function note_route_change() returns trigger language plpgsql as $$
begin
  -- Of a deleted row `new` is null.
  insert into route_changes values (coalesce(new.deployment_id, old.deployment_id));
  return null;
end $$;

create trigger unit_changes_its_route after insert or delete or update of is_ready, ordinal, token_sealed, cross_origin on units
  for each row execute function note_route_change();
create trigger revision_changes_its_route after update of role on revisions
  for each row when (old.role is distinct from new.role) execute function note_route_change();
create trigger deployment_changes_its_route
  after update of route_name, workspace_id, desired_run_state, delete_requested_at, source_config on deployments
  for each row when (
    (old.route_name, old.workspace_id, old.desired_run_state, old.delete_requested_at, old.source_config ->> 'deployment_type') is distinct from
    (new.route_name, new.workspace_id, new.desired_run_state, new.delete_requested_at, new.source_config ->> 'deployment_type'))
  execute function note_route_change();
create trigger refusal_changes_a_route after insert or delete or update of refused_until on sleeps
  for each row execute function note_route_change();
create trigger host_name_changes_a_route after insert or delete or update of verified_at, certificate_sha256 on host_names
  for each row execute function note_route_change();

create function note_routes_of_a_key() returns trigger language plpgsql as $$
declare
  workspace uuid := coalesce(new.workspace_id, old.workspace_id);
begin
  if workspace is null then
    insert into route_changes values (null);
  else
    insert into route_changes select deployment_id from deployments where workspace_id = workspace;
  end if;
  return null;
end $$;

create trigger key_changes_routes after insert or delete or update of sha256, scopes, expires_at, revoked_at on api_keys
  for each row execute function note_routes_of_a_key();
