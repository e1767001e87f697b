-- Trigger: wakes the servers that sleep until the next cron is due.
create or replace function tell_crons_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('crons_changed', '');
  return null;
end
$$;
