-- Numbers of a resource_spec become units, processes and connections, and one request could ask for any number of them:
-- the reconciler reads every unit each second. What is stored beyond a bound is brought down to it, in revisions too,
-- since a rollback repeats them. Processes of units that go away here are ended by the reconciler as strays.

update deployments set source_config = jsonb_set(source_config, '{resource_spec,min_scale}', '100')
  where jsonb_path_exists(source_config, '$.resource_spec.min_scale ? (@ > 100)');
update deployments set source_config = jsonb_set(source_config, '{resource_spec,max_scale}', '100')
  where jsonb_path_exists(source_config, '$.resource_spec.max_scale ? (@ > 100)');
update deployments
  set source_config = jsonb_set(source_config, '{resource_spec,max_scale}', source_config #> '{resource_spec,min_scale}')
  where jsonb_path_exists(source_config, '$.resource_spec ? (@.min_scale > @.max_scale)');
update deployments set source_config = jsonb_set(source_config, '{resource_spec,db_max_connections}', '262143')
  where jsonb_path_exists(source_config, '$.resource_spec.db_max_connections ? (@ > 262143)');

update revisions set source_config = jsonb_set(source_config, '{resource_spec,min_scale}', '100')
  where jsonb_path_exists(source_config, '$.resource_spec.min_scale ? (@ > 100)');
update revisions set source_config = jsonb_set(source_config, '{resource_spec,max_scale}', '100')
  where jsonb_path_exists(source_config, '$.resource_spec.max_scale ? (@ > 100)');
update revisions
  set source_config = jsonb_set(source_config, '{resource_spec,max_scale}', source_config #> '{resource_spec,min_scale}')
  where jsonb_path_exists(source_config, '$.resource_spec ? (@.min_scale > @.max_scale)');
update revisions set source_config = jsonb_set(source_config, '{resource_spec,db_max_connections}', '262143')
  where jsonb_path_exists(source_config, '$.resource_spec.db_max_connections ? (@ > 262143)');

delete from units where ordinal >= 100;

create function resources_are_bounded(config jsonb) returns boolean language sql immutable as $$
  select not jsonb_path_exists(config, '$.resource_spec ? (@.min_scale > 100 || @.max_scale > 100
    || @.min_scale > @.max_scale || @.db_max_connections > 262143)')
$$;

alter table deployments add constraint deployment_resources_are_bounded check (resources_are_bounded(source_config));
alter table revisions add constraint revision_resources_are_bounded check (resources_are_bounded(source_config));
alter table units add constraint unit_of_a_bounded_number check (ordinal between 0 and 99);
