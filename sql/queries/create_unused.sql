-- The texts of a space's chunks, served or kept; and, numbered to be deleted in batches, old vectors of other texts.
create temporary table used as
select decode(text_hash, 'hex') as text_hash from {chunks}
union
select decode(text_hash, 'hex') from {history} where text_hash is not null;
analyze used;
create temporary table unused (n bigint generated always as identity primary key, text_hash bytea not null);
