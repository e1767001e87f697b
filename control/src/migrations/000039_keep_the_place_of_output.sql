-- Up to where a unit's output is stored. It was a number of bytes of a file; engines that keep the output themselves have other places, and a
-- control plane on another computer has no such file. The former column stays: a former release that runs beside this one reads it. A later
-- release drops it.
alter table units add column log_place text not null default '';
update units set log_place = log_offset::text where log_offset > 0;
