-- The raw bytes that a served or kept state was made from.
select raw_sha256 from documents
union
select raw_sha256 from documents_history where raw_sha256 is not null
