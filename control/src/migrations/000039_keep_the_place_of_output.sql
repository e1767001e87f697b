-- Up to where a unit's output is stored. It was a number of bytes of a file; engines that keep the output themselves have other places, and a
-- control plane on another computer has no such file.
alter table units add column log_place text not null default '';
update units set log_place = log_offset::text where log_offset > 0;
alter table units drop column log_offset;
