-- A run that was stopped before its input was saved looks like one that was stopped later: clients and the console must tell them
-- apart, since the message of the first is in no checkpoint. Null: the run is not over, or ended in success or before this migration.
alter table runs add column input_saved boolean;
