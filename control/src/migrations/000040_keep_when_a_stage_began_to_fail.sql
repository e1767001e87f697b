-- When the first failed try of the revision's stage ended; only its value while stage_attempt is above 0 means something. A former release
-- that runs beside this one does not write it, and counts tries alone.
alter table revisions add column failing_since timestamptz;
